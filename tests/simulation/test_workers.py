"""One crawl by several workers: each crawls its own servers, and they send each other the links that they find."""

from dataclasses import replace
from itertools import pairwise
from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlproject.frontier import POLICIES, BestPrefix, Entry
from crawlproject.frontier.quality import InLinks
from crawlproject.options.all_settings import DEFAULTS
from crawlproject.simulation import report
from crawlproject.simulation.crawl import Exchange, simulate
from crawlproject.simulation.experiment import Experiment, KnownWorth, Trial, run
from crawlproject.simulation.metrics import Curve
from crawlproject.simulation.record import Crawl, CrawlOptions
from crawlproject.simulation.synthetic import SyntheticSpec, build
from crawlproject.simulation.web import SimulatedWeb
from crawlproject.workers.assignment import PARTITIONS, assign, owners_of_servers
from crawlproject.workers.partitions import Partitions
from tests.simulation.webs import Host, Page, connections, make_web, most_at_once, webs

SMALL = SyntheticSpec(servers=40, pages=600)


def entry(page: int) -> Entry:
    return Entry(f"http://s{page}.test/", payload=page)


def crawl_of(web: SimulatedWeb, workers: int, **options: float) -> Crawl:
    asked = CrawlOptions(sessions=max(4, workers), workers=workers, timeout=1.0, **options)
    return simulate(web, BestPrefix(), InLinks(), asked)


@settings(deadline=None)
@given(webs(may_be_dead=True, with_sitemaps=True), st.integers(1, 5), st.sampled_from(sorted(POLICIES)))
def test_workers_together_fetch_every_page_once(web: SimulatedWeb, workers: int, policy: str) -> None:
    """Links to servers of others are not lost, and found again they are not fetched again."""
    options = CrawlOptions(sessions=5, workers=workers, timeout=1.0)
    crawl = simulate(web, POLICIES[policy](), KnownWorth(web), options)
    assert sorted(crawl.pages) == np.flatnonzero(web.collectable).tolist()
    assert (np.diff(crawl.ended) >= 0).all()
    assert workers > 1 or crawl.sent == 0


@settings(deadline=None)
@given(webs(), st.integers(1, 4))
def test_sessions_are_divided(web: SimulatedWeb, workers: int) -> None:
    """All workers together have as many connections as one, and one to a server."""
    crawl = crawl_of(web, workers)
    made = connections(crawl)
    assert most_at_once([(one.opened, one.closed) for one in made]) <= 4
    owners = CrawlOptions().owners(web.keys, workers)
    for worker in range(workers):
        mine = [(one.opened, one.closed) for one in made if owners[one.server] == worker]
        assert most_at_once(mine) <= -(-4 // workers)


def test_links_cross_at_the_turns_of_their_sender_and_receiver() -> None:
    """Two workers, one server each; turns at 0, 1, 2 s and at .5, 1.5, 2.5 s.

    Page 0 opens .1, takes 1 s: its link leaves at 2 s, and is read at 2.5 s.
    """
    web = make_web([Host(0.1), Host(0.2)], [Page(0, links=(1, 2)), Page(1), Page(0, links=(1,))])
    crawl = simulate(web, BestPrefix(), KnownWorth(web), CrawlOptions(sessions=2, workers=2))
    assert crawl.pages.tolist() == [0, 2, 1]
    assert crawl.started.tolist() == pytest.approx([0.1, 1.1, 2.7])
    assert crawl.sent == 1  # the second link to page 1 was known to be sent
    assert crawl.busiest_share == pytest.approx(2 / 3)


def test_exchange_delivers_each_link_once() -> None:
    """To the owner of its server; a worker without links has no turn."""
    exchange = Exchange(owners=[0, 1, 2], servers=[0, 1, 2, 2], workers=3, interval=3.0)
    assert [exchange.owner(page) for page in range(4)] == [0, 1, 2, 2]
    assert [exchange.unsent(0, 3, repeats=True) for _ in range(9)] == [1, 0, 0, 0, 0, 0, 0, 7, 0]
    assert [exchange.unsent(1, 3, repeats=False) for _ in range(3)] == [1, 0, 0]
    exchange.send(0, [], now=0.0)
    assert exchange.due == [np.inf] * 3
    exchange.send(0, [entry(1), entry(3)], now=0.0)
    exchange.send(0, [entry(2)], now=1.0)
    assert exchange.due == [3.0, np.inf, np.inf]
    assert exchange.turn(0, 3.0) == []
    assert exchange.due == [np.inf, 4.0, 5.0]
    assert [one.payload for one in exchange.turn(2, 5.0)] == [3, 2]
    assert [one.payload for one in exchange.turn(1, 4.0)] == [1]
    assert exchange.turn(1, 5.0) == []
    assert (exchange.sent, exchange.due) == (3, [np.inf] * 3)


def test_links_of_other_workers_raise_the_quality_of_queued_pages() -> None:
    """Of server 1's pages, which only worker 1 fetches, the one that worker 0 links to twice is second, after a home.

    Without the links from the other worker, page 2 would come before page 3.
    """
    pages = [Page(0, 0.1, links=(3, 4)), Page(1, 8.0, links=(2, 3)), Page(1), Page(1), Page(0, 0.1, links=(3,))]
    web = make_web([Host(), Host()], pages, seeds=(0, 1))
    crawl = simulate(web, BestPrefix(), InLinks(), CrawlOptions(sessions=2, workers=2))
    assert [page for page in crawl.pages.tolist() if web.server[page] == 1] == [1, 3, 2]


def test_equal_crawls_are_equal() -> None:
    """Nothing is left to chance once the web is drawn."""
    web = build(SMALL)
    first, again = (crawl_of(web, 3, cpu_time=0.01) for _ in range(2))
    assert first.pages.tolist() == again.pages.tolist()
    assert first.ended.tolist() == again.ended.tolist()


def test_each_worker_needs_a_session() -> None:
    """The error says how many there are."""
    with pytest.raises(ValueError, match="5 workers for 4 sessions"):
        simulate(build(SMALL), BestPrefix(), InLinks(), CrawlOptions(sessions=4, workers=5))


def test_dividing_a_crawl_costs_little() -> None:
    """Less than .01 of the area under quality over time for 4 x 16 sessions instead of 64.

    By the dearest policy: a crawl of 10,000 pages takes a second (generous, as machines differ).
    """
    web = build(SyntheticSpec(servers=1_000, pages=10_000))

    def crawl_by(workers: int) -> Crawl:
        return simulate(web, BestPrefix(), KnownWorth(web), CrawlOptions(workers=workers, owners=owners_of_servers))

    start = process_time()
    one = crawl_by(1)
    assert len(one.pages) == 10_000
    assert process_time() - start < 10
    four = crawl_by(4)
    areas = [Curve.of(crawl).area(one.full_time) / one.full_time for crawl in (one, four)]
    assert areas[0] - 0.01 < areas[1] < areas[0]
    assert 0.25 <= four.busiest_share < 0.35
    assert 0 < four.sent < 2 * web.pages


def test_a_slow_exchange_costs_quality() -> None:
    """Links that wait are found later."""
    web = build(SyntheticSpec(servers=100, pages=3000))
    fast, slow = (crawl_of(web, 4, exchange_interval=interval) for interval in (0.01, 120.0))
    assert Curve.of(slow).area(fast.full_time) < 0.99 * Curve.of(fast).area(fast.full_time)


@pytest.fixture(scope="module")
def trials() -> list[Trial]:
    """Two policies, by one, two and three workers."""
    options = CrawlOptions(sessions=6, owners=owners_of_servers)
    return run(
        Experiment((SMALL, replace(SMALL, seed=2)), policies=("capacity", "prefix"), workers=(2, 1, 3), options=options)
    )


def test_trials_stand_by_policy_and_workers(trials: list[Trial]) -> None:
    """In the order given; T and the times relative to other policies are of one worker."""
    of_first = [trial for trial in trials if trial.web.seed == SMALL.seed]
    keys = [(trial.policy, trial.workers, trial.name) for trial in of_first]
    assert keys == [
        ("capacity", 2, "capacity x2"), ("capacity", 1, "capacity"), ("capacity", 3, "capacity x3"),
        ("prefix", 2, "prefix x2"), ("prefix", 1, "prefix"), ("prefix", 3, "prefix x3"),
    ]  # fmt: skip
    assert len({trial.reference.unit for trial in of_first}) == 1
    assert [trial.t80_capacity == 1 for trial in of_first] == [False, True, False, False, False, False]
    alone = run(Experiment((SMALL,), policies=("prefix",), options=CrawlOptions(sessions=6)))
    assert of_first[4].score.nauc == pytest.approx(alone[0].score.nauc)
    assert of_first[4].score.full_time == alone[0].score.full_time


def test_reports_tell_workers_apart(trials: list[Trial]) -> None:
    """A line of the table, a row of the summary and a curve each; two more columns if there are several workers."""
    lines = report.text(trials).splitlines()
    assert [line[:20].strip() for line in lines[3:]] == [
        "pagerank", "capacity x2", "capacity", "capacity x3", "prefix x2", "prefix", "prefix x3",
    ]  # fmt: skip
    assert lines[3].split()[-2:] == ["sent", "most"]
    assert lines[8].split()[-2:] == ["0.00", "1.000"]
    means = [row for row in report.summary(trials) if row["statistic"] == "mean"]
    assert [(row["policy"], row["workers"], row["webs"]) for row in means] == [
        (policy, workers, 2) for policy in ("capacity", "prefix") for workers in (2, 1, 3)
    ]
    assert list(report.curves(trials).quality) == [
        "capacity x2", "capacity", "capacity x3", "prefix x2", "prefix", "prefix x3", report.BOUND,
    ]  # fmt: skip
    alone = [trial for trial in trials if trial.workers == 1]
    assert report.text(alone).splitlines()[3].split()[-1] == "busy"


def test_servers_belong_to_the_workers_of_their_partitions() -> None:
    """As in a real crawl: all servers of a domain to one worker, shares of partitions equal."""
    keys = [f"http://{name}{number}.org" for number in range(300) for name in ("a.s", "b.s")]
    owners = owners_of_servers(keys, 4)
    assert set(owners) == {0, 1, 2, 3}
    assert all(first == second for first, second in list(pairwise(owners))[::2])
    assert owners_of_servers(keys, 1) == [0] * len(keys)
    assert DEFAULTS["FRONTIER_PARTITIONS"] == PARTITIONS == 256
    by_hand = assign(256, ["0000", "0001", "0002", "0003"])
    assert owners[:20] == [int(by_hand[Partitions(256).of(key)]) for key in keys[:20]]
    with pytest.raises(ValueError, match="5 workers for 4 partitions"):
        owners_of_servers(keys, 5, partitions=4)
