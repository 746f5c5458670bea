"""The model of a web: determinism, sizes, links, reachability, manners, worth."""

from __future__ import annotations

import re
from collections import Counter, deque
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from testbed.web import Web, WebSpec, build_web
from testbed.web.graph import MOVED, NOT_FOUND, PRIVATE, SERVER_ERROR, pagerank, zipf
from testbed.web.pages import answer
from testbed.web.traps import trap_links

if TYPE_CHECKING:
    from pathlib import Path

SPEC = WebSpec(servers=40, pages=1200, seed=3)
BROKEN = replace(
    SPEC,
    not_found_share=0.05,
    server_error_share=0.05,
    redirect_share=0.1,
    robots_disallow_share=0.5,
    dead_share=0.1,
    session_share=0.25,
)


def links_in(web: Web, page: int) -> list[str]:
    """The URLs in the HTML of a page."""
    server = web.servers[web.server_of[page]]
    hrefs = re.findall(r'href="([^"]*)"', answer(web, server, web.paths[page], 1).body.decode())
    return [href if href.startswith("http") else web.base(server.index) + href for href in hrefs]


def crawl(web: Web) -> set[int]:
    """All pages that a naive crawl of the HTML fetches with 200, obeying robots.txt and passing by dead servers."""
    queue = deque(web.page_at(url) for url in web.seeds())
    seen, fetched = set(queue), set()
    while queue:
        page = queue.popleft()
        server = web.servers[web.server_of[page]]
        if server.is_dead or (
            server.robots and "Disallow: /private/" in server.robots and "/private/" in web.url(page)
        ):
            continue
        if answer(web, server, web.paths[page], 1).status == 200:
            fetched.add(page)
        found = {web.page_at(url) for url in links_in(web, page)} - seen
        seen |= found
        queue.extend(found)
    return fetched


def test_same_spec_builds_the_same_web() -> None:
    """Nothing but the spec decides what the web is like."""
    one, other = build_web(BROKEN), build_web(BROKEN)
    assert one.servers == other.servers
    assert (one.paths, one.kinds, one.targets, one.bounds) == (other.paths, other.kinds, other.targets, other.bounds)
    assert (one.sizes, one.times, one.scores) == (other.sizes, other.times, other.scores)
    assert [links_in(one, page) for page in range(50)] == [links_in(other, page) for page in range(50)]


def test_other_seed_builds_another_web() -> None:
    """The seed changes servers, links and times."""
    one, other = build_web(SPEC), build_web(replace(SPEC, seed=4))
    assert one.servers != other.servers
    assert one.targets != other.targets
    assert one.times != other.times


def test_speed_changes_nothing_else() -> None:
    """Each aspect is drawn from a stream of its own: a faster web has the same links."""
    assert build_web(SPEC).targets == build_web(replace(SPEC, time_scale=0.0)).targets


def test_sizes_follow_a_power_law() -> None:
    """The servers hold all pages, the largest many times as many as the smallest."""
    sizes = sorted(server.page_count for server in build_web(replace(SPEC, size_exponent=0.7)).servers)
    assert sum(sizes) == 1200
    assert sizes[-1] > 8 * sizes[0]


def test_sizes_can_be_equal() -> None:
    """An exponent of 0 gives every server 1200 / 40 pages."""
    assert {server.page_count for server in build_web(replace(SPEC, size_exponent=0.0)).servers} == {30}


def test_slowest_servers_are_small() -> None:
    """The slowest fifth of the servers has no more pages than any other server."""
    servers = sorted(build_web(SPEC).servers, key=lambda server: server.response_time)
    assert max(server.page_count for server in servers[32:]) <= min(server.page_count for server in servers[:32])


def test_links_stay_on_their_server_by_three_quarters() -> None:
    """Links to the own server, fix-ups included, are about 75 %; none leads to its own page."""
    web = build_web(SPEC)
    links = [(page, target) for page in range(1200) for target in web.links(page)]
    local = sum(web.server_of[page] == web.server_of[target] for page, target in links)
    assert local / len(links) == pytest.approx(0.75, abs=0.03)
    assert all(page != target for page, target in links)


def test_links_favour_a_few_pages() -> None:
    """The top 1 % of the pages have over a tenth of the in-links, and home pages are linked from other servers."""
    web = build_web(SPEC)
    counts = Counter(web.targets)
    homes = [server.first_page for server in web.servers]
    outside = {
        target for page in range(1200) for target in web.links(page) if web.server_of[page] != web.server_of[target]
    }
    assert sum(count for _, count in counts.most_common(12)) > 0.1 * len(web.targets)
    assert len(outside.intersection(homes)) > 30


def test_bench_pages_have_size_and_links_as_asked() -> None:
    """With fixed size and no spread nearly every page has 19 kB and 40 links."""
    web = build_web(replace(SPEC, servers=10, page_bytes=19_000, links_per_page=40, links_sigma=0.0))
    bodies = [answer(web, web.servers[web.server_of[page]], web.paths[page], 1).body for page in range(0, 1200, 50)]
    assert {len(body) for body in bodies} == {19_000}
    assert Counter(body.count(b"<a href") for body in bodies).most_common(1)[0][0] in (39, 40)


def test_page_sizes_have_the_mean_asked_for() -> None:
    """Sizes are log-normal with a mean of 8,000 bytes."""
    sizes = build_web(SPEC).sizes
    assert sum(sizes) / len(sizes) == pytest.approx(8000, rel=0.1)


@pytest.mark.parametrize("spec", [SPEC, BROKEN])
def test_crawl_of_the_html_fetches_what_is_expected(spec: WebSpec) -> None:
    """A naive crawl from the seeds gets exactly the expected URLs."""
    web = build_web(spec)
    assert {web.url(page) for page in crawl(web)} == set(web.expected_urls())


def test_every_page_of_a_plain_web_is_expected() -> None:
    """Without errors all pages can be reached, each by one URL."""
    assert len(set(build_web(SPEC).expected_urls())) == 1200


def test_every_good_page_is_expected() -> None:
    """Errors, redirects and disallowed pages cut no plain page off."""
    web = build_web(BROKEN)
    live = [page for page in range(1200) if not web.servers[web.server_of[page]].is_dead]
    assert set(web.expected) == {page for page in live if not web.kinds[page]}


def test_unreachable_pages_are_left_where_asked_for() -> None:
    """Without remote links only the seeds' servers can be reached, unless links are added."""
    spec = replace(SPEC, local_share=1.0)
    assert len(build_web(replace(spec, reachable=False)).expected) < 300
    assert len(build_web(spec).expected) == 1200


def test_keep_alive_limits_have_the_shares_of_the_paper() -> None:
    """Of 50 servers 12 (24 %) allow one request, 33 (66 %) a hundred, 5 something between 2 and 50."""
    limits = Counter(server.keep_alive_limit for server in build_web(replace(SPEC, servers=50)).servers)
    assert (limits.pop(1), limits.pop(100)) == (12, 33)
    assert sum(limits.values()) == 5
    assert all(2 <= limit <= 50 for limit in limits)


def test_shares_of_bad_pages_are_exact() -> None:
    """5 % of 1,200 pages are 60; 10 % are 120; a fifth of the inner pages of 20 servers is private."""
    web = build_web(BROKEN)
    kinds = Counter(web.kinds)
    private = sum(round(0.2 * (server.page_count - 1)) for server in web.servers if server.has_private)
    assert (kinds[NOT_FOUND], kinds[SERVER_ERROR], kinds[MOVED]) == (60, 60, 120)
    assert kinds[PRIVATE] == private > 50
    assert sum(server.has_private for server in web.servers) == 20


def test_redirects_lead_to_plain_pages_here_and_elsewhere() -> None:
    """Both codes and both kinds of target occur; every target answers 200."""
    web = build_web(BROKEN)
    sources = [page for page in web.redirects if not web.servers[web.server_of[page]].is_dead]
    replies = [answer(web, web.servers[web.server_of[page]], web.paths[page], 1) for page in sources]
    stays = {web.server_of[page] == web.server_of[web.redirects[page]] for page in sources}
    assert {reply.status for reply in replies} == {301, 302}
    assert stays == {True, False}
    assert {web.redirects[page] for page in sources} <= set(web.expected)


def test_dead_servers_are_neither_seeds_nor_expected() -> None:
    """4 of 40 servers are dead, none of them a seed."""
    web = build_web(BROKEN)
    dead = {server.address for server in web.servers if server.is_dead}
    assert len(dead) == 4
    assert len(web.seeds()) == 5
    assert not any(address in url for address in dead for url in web.seeds() + web.expected_urls())


def test_addresses_follow_each_other() -> None:
    """Another first address makes room for a second web beside the first."""
    web = build_web(replace(SPEC, first_address="127.2.0.250", port=8000))
    assert [web.servers[i].address for i in (0, 5, 6)] == ["127.2.0.250", "127.2.0.255", "127.2.1.0"]
    assert web.url(0) == "http://127.2.0.250:8000/"


def test_urls_name_their_pages() -> None:
    """`page_at` is the inverse of `url`, whatever the fragment, and knows nothing outside the web."""
    web = build_web(SPEC).at(8000)
    assert [web.page_at(web.url(page) + "#top") for page in range(1200)] == list(range(1200))
    assert any("/d" in path for path in web.paths)
    for url in ("http://127.1.0.1:8001/", "http://127.9.0.1:8000/", "http://127.1.0.1:8000/nothing"):
        with pytest.raises(KeyError):
            web.page_at(url)


def test_robots_text_names_what_is_asked() -> None:
    """A server's robots.txt carries its rules; half of those without rules have none."""
    spec = replace(SPEC, robots_disallow_share=0.25, crawl_delay_share=0.25, crawl_delay=2.5)
    web = build_web(spec)
    texts = {server.address: server.robots for server in web.servers}
    plain = [server for server in web.servers if not server.has_private and not server.crawl_delay]
    assert web.crawl_delays() == {a: 2.5 for a, text in texts.items() if text and "Crawl-delay: 2.5\n" in text}
    assert len(web.crawl_delays()) == sum(server.has_private for server in web.servers) == 10
    assert sum(server.robots is None for server in plain) == round(len(plain) / 2)


def test_pagerank_of_a_star() -> None:
    """Pages 1 and 2 link to 0, 0 to 1: r2 = .05, r0 = .05 + .85(r1 + r2), r1 = .05 + .85 r0, so r0 = .135 / .2775."""
    assert pagerank([[1], [0], [0]]) == pytest.approx([0.48649, 0.46351, 0.05], abs=1e-4)


def test_pagerank_shares_out_what_dangles() -> None:
    """Two pages, 1 without links: r0 = .075 + .425 r1 and r0 + r1 = 1, so r0 = .5 / 1.425."""
    assert pagerank([[1], []]) == pytest.approx([0.35088, 0.64912], abs=1e-4)


def test_zipf_falls_with_the_rank() -> None:
    """Worth is 1, 1/2, 1/3, ... of the best, in random order, and sums to 1."""
    values = zipf(50, seed=1)
    best = sorted(values, reverse=True)
    assert values != best
    assert sum(values) == pytest.approx(1)
    assert [best[0] / each for each in best] == pytest.approx(list(range(1, 51)))


def test_quality_is_in_page_and_file(tmp_path: Path) -> None:
    """The meta tag, `quality()` and the scores file say the same."""
    web = build_web(replace(SPEC, quality="zipf")).at(8000)
    web.write_scores(tmp_path / "scores.tsv")
    lines = [line.split("\t") for line in (tmp_path / "scores.tsv").read_text().splitlines()]
    body = answer(web, web.servers[0], "/", 1).body.decode()
    assert [(url, float(score)) for url, score in lines] == [(web.url(page), web.scores[page]) for page in range(1200)]
    assert f'<meta name="quality" content="{web.scores[0]!r}">' in body


@pytest.mark.parametrize("kind", ["session", "visit"])
def test_session_ids_are_new_on_each_visit(kind: str) -> None:
    """The same page shows other links each time, all of which lead to the same pages."""
    web = build_web(replace(SPEC, **{f"{kind}_share": 1.0}))
    pages = [answer(web, web.servers[0], "/", visit).body.decode() for visit in (1, 2)]
    first, second = (re.findall(r'href="(/[^"]*)"', body) for body in pages)
    assert first
    assert not set(first) & set(second)
    assert [web.find(0, href) for href in first] == [web.find(0, href) for href in second]
    assert None not in {web.find(0, href) for href in first}


def test_traps_never_end() -> None:
    """The calendar goes on over the year, the repeated path gets longer; other servers have neither."""
    web = build_web(replace(SPEC, calendar_share=0.5, repeat_share=0.5))
    calendar = next(server for server in web.servers if server.trap == "calendar")
    repeat = next(server for server in web.servers if server.trap == "repeat")
    assert '"/calendar/2003/01/"' in answer(web, calendar, "/", 1).body.decode()
    assert trap_links(calendar, "/calendar/2003/12/") == ["/calendar/2003/11/", "/calendar/2004/01/", "/"]
    assert trap_links(repeat, "/a/b/a/b/") == ["a/b/", "/"]
    assert trap_links(calendar, "/a/b/") is trap_links(repeat, "/calendar/2003/01/") is None


def test_a_diary_has_months_and_days() -> None:
    """Months lead to other months and their days, days to their neighbours and their month."""
    web = build_web(replace(SPEC, diary_share=1.0))
    server = web.servers[0]
    month = "/diary/month.php?year=2020&month=12"
    assert '"/diary/month.php?year=2020&month=6"' in answer(web, server, "/", 1).body.decode()
    assert answer(web, server, month, 1).note == "trap"
    links = trap_links(server, month)
    assert len(links) == 2 + 28 + 1
    assert "/diary/month.php?year=2021&month=1" in links
    day = "/diary/day.php?year=2020&month=12&day=1"
    assert trap_links(server, day) == [month, "/diary/day.php?year=2020&month=12&day=2", "/"]
