"""Forecasts of the end of a crawl, and of the time when most of its quality is gathered."""

from __future__ import annotations

from math import inf

import pytest

from crawlproject.frontier import BestPrefix, Entry, Frontier, Measurement, Politeness
from crawlproject.monitor.forecast import MAX_LOOKS, WIDEST, Forecaster, Limits, Look, Range
from crawlproject.monitor.survey import Drains, Survey, fetchable, joint_pace, own_pace
from crawlproject.monitor.surveyor import STEP, PagesAllowed, Surveyor
from scripts.forecast_error import cases, run


def looks(pages: int = 1000, seconds: float = 100.0, until: float = 0.5) -> list[Look]:
    """A crawl at a steady pace of ``pages`` URLs, all known from the start and worth 1 each."""
    count = int(until * 100)
    return [
        Look(
            now=seconds * i / 100,
            done=pages * i / 100,
            pages=pages * i // 100,
            queued=pages - pages * i // 100,
            gathered=pages * i / 100,
            waiting=pages * (100 - i) / 100,
        )
        for i in range(count + 1)
    ]


def forecaster_of(found: list[Look], *limits: float) -> Forecaster:
    forecaster = Forecaster(Limits(*limits))
    for look in found:
        forecaster.add(look)
    return forecaster


def test_a_steady_crawl_of_known_pages() -> None:
    """Half of the time is left; 80% of equal pages take 30% of it."""
    forecast = forecaster_of(looks()).forecast(None)
    assert forecast.end is not None
    assert forecast.most_quality is not None
    assert forecast.end.likely == pytest.approx(50.0)
    assert forecast.end.low < 50.0 < forecast.end.high
    assert forecast.most_quality.likely == pytest.approx(30.0)
    assert forecast.share == pytest.approx(0.5)


def test_what_cannot_be_known_is_not_told() -> None:
    """Nothing has happened; few pages; every page shows many new URLs; nothing was fetched lately."""
    assert Forecaster().forecast(None).why_not == "the crawl has not begun"
    assert forecaster_of(looks(until=0.05)).forecast(None).why_not == "too few pages yet"
    growing = [Look(float(i), 10.0 * i, 10 * i, 50 * i, 10.0 * i, 50.0 * i) for i in range(50)]
    forecast = forecaster_of(growing).forecast(None)
    assert (forecast.end, forecast.most_quality) == (None, None)
    assert forecast.why_not == "new URLs are found faster than pages are fetched"
    still = [each._replace(done=0.0, pages=0) for each in looks()]
    assert forecaster_of(still).forecast(None).end is None
    unknown = [each._replace(waiting=None) for each in looks()]
    forecast = forecaster_of(unknown).forecast(None)
    assert (forecast.share, forecast.most_quality) == (None, None)
    assert forecast.end is not None


def test_limits_end_the_crawl_before() -> None:
    """By time, pages, bytes or items; also of a crawl whose end cannot be known otherwise."""
    counting = [each._replace(bytes=20_000 * each.pages, items=3 * each.pages) for each in looks()]
    for limits in ((inf, inf, 20_000.0 * 600), (inf, inf, inf, 3.0 * 600)):
        assert forecaster_of(counting, *limits).forecast(None).end == pytest.approx((7.0, 10.0, 14.0))
    by_time = forecaster_of(looks(), 60.0).forecast(None).end
    by_pages = forecaster_of(looks(), inf, 600).forecast(None).end
    assert by_time is not None
    assert by_pages is not None
    assert (by_time.likely, by_pages.likely) == (pytest.approx(10.0), pytest.approx(10.0))
    growing = [Look(float(i), 10.0 * i, 10 * i, 50 * i, 10.0 * i, 50.0 * i) for i in range(50)]
    limited = forecaster_of(growing, inf, 1000).forecast(None).end
    assert limited == pytest.approx((0.7 * 51, 51.0, 1.4 * 51))
    late = forecaster_of(growing, inf, 10_000).forecast(None).end
    assert late == pytest.approx((0.7 * 2450 / 10, 951.0, 1.4 * 951))  # at the earliest when the queue is empty
    soon = forecaster_of(growing[:5], 60.0).forecast(None).end
    assert soon == (0.0, 56.0, 56.0)  # or at once, if nothing is found


def test_no_quality_is_promised_after_the_end() -> None:
    """80% would be gathered in 30 s: not if a limit ends the crawl before."""
    for limits, is_shown in (((60.0,), False), ((inf, 600), False), ((100.0,), True), ((inf, 900), True)):
        assert (forecaster_of(looks(), *limits).forecast(None).most_quality is not None) == is_shown


def test_a_halted_crawl_has_no_forecast_and_keeps_its_pace() -> None:
    """A pause of 1,000 s in the middle: no end is known meanwhile; afterwards it is as if there was none."""
    found = looks()
    forecaster = forecaster_of(found, 2000.0)
    for second in range(1, 1001):
        forecast = forecaster.halt(found[-1]._replace(now=50.0 + second), "the crawl is paused")
        assert forecast == (None, "the crawl is paused", None, pytest.approx(0.5))
    for look in looks(until=0.6)[len(found) :]:
        forecaster.add(look._replace(now=look.now + 1000.0))
    assert forecaster.forecast(None) == forecaster_of(looks(until=0.6)).forecast(None)
    forecaster = Forecaster(Limits(75.0))
    forecaster.halt(found[0]._replace(now=-20.0), "the crawl is paused")  # a limit of time counts pauses
    for look in found:
        forecaster.add(look)
    assert forecaster.forecast(None).end == (5.0, 5.0, 5.0)


def test_memory_is_bounded() -> None:
    """However long the crawl."""
    forecaster = Forecaster()
    for i in range(20 * MAX_LOOKS):
        forecaster.add(Look(float(i), float(i), i, 1, float(i), 1.0))
    assert len(forecaster._looks) <= MAX_LOOKS
    assert forecaster._looks[0].now == 0.0


def test_a_slow_server_decides_the_end() -> None:
    """60 URLs with a Crawl-delay of 10 s take 10 minutes, whatever the pace of the others."""
    frontier = Frontier(BestPrefix(), Politeness())
    frontier.push(Entry(f"http://slow.example/{i}", 1.0) for i in range(61))
    frontier.record(Measurement("http://slow.example", 0.0, 200, connect_time=0.1, response_time=0.1, fetch_time=0.2))
    frontier.servers.set_crawl_delay("http://slow.example", 10.0)
    surveyor = Surveyor(frontier)
    assert surveyor.step(0.0)
    assert surveyor.survey is not None
    assert surveyor.survey.longest_time == pytest.approx(612, rel=0.05)
    found = [each._replace(queued=each.queued + 61) for each in looks()]
    forecast = forecaster_of(found).forecast(surveyor.survey)
    assert forecast.end is not None
    assert forecast.end.likely == pytest.approx(612, rel=0.1)


def test_a_range_holds_what_is_likely() -> None:
    """Also where the waits of the servers with the most URLs decide, and more of these are to be discovered."""
    survey = Survey()
    survey.drains.add(100, 600.0)
    survey.longest_time = 600.0
    found = [
        Look(now=float(i), done=10.0 * i, pages=10 * i, queued=100 + 8 * i, gathered=10.0 * i, waiting=100.0)
        for i in range(50)
    ]
    end = forecaster_of(found).forecast(survey).end
    assert end is not None
    assert end.low <= end.likely <= end.high


def test_a_blocked_server_decides_nothing() -> None:
    """Its URLs do not count as queued, and the crawl ends without them."""
    frontier = Frontier(BestPrefix(), Politeness())
    frontier.push(Entry(f"http://{name}.example/{i}", 1.0) for name in ("slow", "other") for i in range(61))
    frontier.servers.set_crawl_delay("http://slow.example", 10.0)
    for _ in frontier.block("slow.example", blocked=True):
        pass
    surveyor = Surveyor(frontier)
    surveyor.step(0.0)
    assert surveyor.survey is not None
    assert surveyor.survey.longest is frontier.server("http://other.example")
    assert (surveyor.survey.with_urls, sum(surveyor.survey.drains.urls)) == (1, len(frontier))


def test_servers_that_fail_are_expected_to_be_given_up() -> None:
    """Their URLs are not among those left."""
    frontier = Frontier(BestPrefix(), Politeness(), max_failures=5)
    frontier.push(Entry(f"http://dead.example/{i}", 1.0) for i in range(500))
    for _ in range(3):
        frontier.record(Measurement("http://dead.example", 0.0, failed=True))
    surveyor = Surveyor(frontier)
    surveyor.step(0.0)
    assert surveyor.survey is not None
    assert (surveyor.survey.failing, surveyor.survey.failing_urls) == (1, 500)
    assert surveyor.survey.failing_quality + surveyor.survey.failing_others == 500.0  # of quality 1
    assert surveyor.survey.failing_quality >= 1.0
    assert 40.0 <= surveyor.survey.failing_time <= 100.0  # rests 20 s now and 40 s later; an attempt takes 15 s


def test_the_quality_of_servers_that_fail_is_not_expected() -> None:
    """Other servers link to their URLs, of which none is ever fetched: a tenth of the URLs, more of the quality."""
    survey = Survey(failing=1, failing_urls=100, failing_quality=200.0, failing_others=50)
    assert fetchable(600, 800.0, survey) == (600, pytest.approx(800.0 - 200.0 - 50 * 800 / 600))
    assert fetchable(600, 210.0, survey)[1] == pytest.approx(0.05 * 210.0)  # never all of it
    assert fetchable(600, None, survey) == (600, None)


def test_requests_that_bring_no_page_bring_no_quality() -> None:
    """Half of the URLs do not exist: what is known falls from 750 to 556, when 444 are gathered."""
    found = [each._replace(pages=each.pages // 2, gathered=each.gathered / 2) for each in looks()]
    forecast = forecaster_of(found).forecast(None).most_quality
    assert forecast is not None
    assert forecast.likely == pytest.approx(350 / 0.9 / 10, abs=0.1)


def test_servers_that_never_answered_count_as_failing_at_once() -> None:
    """One failure is enough for these; a server that has answered may fail once."""
    frontier = Frontier(BestPrefix(), Politeness(), max_failures=5)
    for name in ("dead", "alive"):
        frontier.push(Entry(f"http://{name}.example/{i}", 1.0) for i in range(10))
    frontier.page_fetched("http://alive.example", 0)
    for name in ("dead", "alive"):
        frontier.record(Measurement(f"http://{name}.example", 0.0, failed=True))
    surveyor = Surveyor(frontier)
    surveyor.step(0.0)
    assert surveyor.survey is not None
    assert surveyor.survey.failing_urls == 10


def test_a_server_whose_robots_txt_fails_is_expected_to_be_given_up() -> None:
    """After as many tries as this one has; its rest of 10 s is that after the second of six."""
    frontier = Frontier(BestPrefix(), Politeness(min_backoff=5.0), max_failures=10)
    frontier.push(Entry(f"http://dead.example/{i}", 1.0) for i in range(10))
    for now in (-5.0, 0.0):
        frontier.servers.robots_failed("http://dead.example", now, error="robots.txt: connection refused")
    surveyor = Surveyor(frontier, 6)
    surveyor.step(0.0)
    assert surveyor.survey is not None
    assert surveyor.survey.failing_urls == 10
    assert surveyor.survey.failing_time == pytest.approx(10 + 20 + 40 + 80 + 4 * 0.5)


def test_quality_yet_to_be_discovered_counts() -> None:
    """The same queue lasts longer if each page gathered shows half as much new quality."""
    times = []
    for share in (0.0, 0.5):
        found = [
            Look(float(i), 10.0 * i, 10 * i, 1000 - 5 * i, 10.0 * i, 300.0 + 10.0 * (50 - i) * (1 - share))
            for i in range(51)
        ]
        assert found[-1].waiting == 300.0
        forecast = forecaster_of(found).forecast(None).most_quality
        assert forecast is not None
        times.append(forecast.likely)
    assert 0.0 < times[0] < times[1]


def limited_frontier() -> Frontier[None]:
    """Three servers with 100 URLs each, two of one domain; 20 pages of the first are fetched."""
    frontier = Frontier(BestPrefix(), Politeness())
    for name in ("a.example.org", "b.example.org", "example.net"):
        frontier.push(Entry(f"http://{name}/{i}", 2.0) for i in range(100))
    for _ in range(20):
        frontier.page_fetched("http://a.example.org", 0)
    return frontier


@pytest.mark.parametrize(
    ("per_server", "per_domain", "beyond"),
    [
        (0, 0, 0),
        (30, 0, 90 + 70 + 70),
        (10, 0, 100 + 90 + 90),
        (150, 0, 0),
        (0, 90, 30 + 100 + 10),
        (80, 90, 40 + 90 + 20),
    ],
)
def test_urls_beyond_page_limits_are_not_expected(per_server: int, per_domain: int, beyond: int) -> None:
    """Per server, per domain, or both; the pages of a domain are known from the second round on."""
    frontier = limited_frontier()
    surveyor = Surveyor(frontier, allowed=PagesAllowed(per_server, per_domain))
    surveyor.finish(0.0)
    surveyor.finish(0.0)
    assert surveyor.survey is not None
    assert surveyor.survey.beyond_limits == beyond
    assert surveyor.survey.beyond_quality == 2.0 * beyond
    assert sum(surveyor.survey.drains.urls) == 300 - beyond
    assert fetchable(300, 600.0, surveyor.survey) == (300 - beyond, pytest.approx(600.0 - 2.0 * beyond))
    assert fetchable(300, None, surveyor.survey) == (300 - beyond, None)
    assert fetchable(300, 600.0, None) == (300, 600.0)


def discovering(until: int) -> list[Look]:
    """2000 pages worth 1 each, 10 a second: the nearer the end, the fewer new ones each of them shows."""
    found = []
    for i in range(until + 1):
        done = 10 * i
        queued = round(2000 * (1 - (1 - done / 2000) ** 2.5)) - done
        found.append(Look(float(i), float(done), done, queued, float(done), float(queued)))
    return found


def test_a_wide_range_is_not_told() -> None:
    """While much is discovered, nobody knows; later the moment, after 156.4 s, can be foreseen; then it has come."""
    assert forecaster_of(discovering(10)).forecast(None).most_quality is None
    for until in range(60, 156, 10):
        found = forecaster_of(discovering(until)).forecast(None).most_quality
        assert found is not None
        assert found.low <= 156.4 - until <= found.high <= WIDEST * found.low
    over = forecaster_of(discovering(165)).forecast(None)
    assert over.share is not None
    assert over.share >= 0.8
    assert over.most_quality == Range(0.0, 0.0, 0.0)


def test_slow_servers_come_last() -> None:
    """All of 8 connections are in use; a page of those left takes three times as long as a recent one."""
    found = [each._replace(polite_pace=1e6, sessions=8, session_limit=8) for each in looks()]
    times = []
    for work in (1.0, 3.0):
        drains = Drains()
        drains.add(found[-1].queued, 1.0, work=work * found[-1].queued * 8 / 10.0)  # 10 pages a second
        forecast = forecaster_of(found).forecast(Survey(drains=drains))
        assert forecast.most_quality is not None
        times.append(forecast.most_quality.likely)
    assert times[0] == pytest.approx(30.0, rel=0.01)
    assert times[1] == pytest.approx(30.0 * (1 + 2 * 0.6), rel=0.01)  # 60% of what is left is needed
    few = forecaster_of([each._replace(session_limit=80) for each in found]).forecast(Survey(drains=drains))
    assert few.most_quality is not None
    assert few.most_quality.likely == pytest.approx(30.0 * (1 + 0.2 * 0.6), rel=0.01)  # connections do not limit it


def test_a_pace_that_politeness_limits_falls_when_servers_run_empty() -> None:
    """Ten servers with 1 URL a second each; nine have 10 URLs and one has 100."""
    drains = Drains()
    for urls in (*[10] * 9, 100):
        drains.add(urls, float(urls))
    assert drains.pace == pytest.approx(10.0)
    own, factor = own_pace(1000.0, drains.pace)
    assert factor > 1.0  # the crawl is faster than politeness seems to allow: scaled to what was measured
    own, factor = own_pace(9.0, drains.pace)
    assert joint_pace(own, drains.pace) == pytest.approx(9.0)
    assert drains.time(90.0, 1.0, 1e9, 1.0) == pytest.approx(9.0)
    assert drains.time(190.0, 1.0, 1e9, 1.0) == pytest.approx(100.0)
    assert drains.time(190.0, 1.0, 0.5, 1.0) > 380.0  # the crawl's own pace is the limit
    assert drains.time(180.0, 2.0, 1e9, 1.0) == pytest.approx(18.0)  # each gets twice as many


def test_a_large_frontier_is_surveyed_in_steps() -> None:
    """Each examines a bounded number of servers."""
    frontier = Frontier(BestPrefix(), Politeness())
    frontier.push(Entry(f"http://s{i}.example/", 1.0) for i in range(2 * STEP + 1))
    surveyor = Surveyor(frontier)
    assert [surveyor.step(0.0) for _ in range(4)] == [False, False, True, False]
    assert surveyor.survey is not None
    assert surveyor.survey.with_urls == 2 * STEP + 1
    assert len(surveyor.survey.top) == 1000


@pytest.mark.long
@pytest.mark.parametrize("number", range(10))
def test_forecasts_of_emulated_crawls(number: int) -> None:
    """From the middle on, most looks forecast the end within a factor of 1.5 (docs/research/forecasts.md)."""
    _, of_end, of_quality = run(cases(1000)[number])
    assert of_end.right_of_all >= 0.4, of_end
    assert of_quality.right_of_all >= 0.5, of_quality
