"""The model of a web: determinism, sizes, links, reachability, manners, worth."""

import re
from collections import Counter, deque
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from testbed.web import Web, WebSpec, build_web
from testbed.web.graph import MOVED, NOT_FOUND, PRIVATE, SERVER_ERROR, pagerank
from testbed.web.pages import answer

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
    server = web.servers[web.server_of[page]]
    hrefs = re.findall(r'href="([^"]*)"', answer(web, server, web.paths[page], 1).body.decode())
    return [href if href.startswith("http") else web.base(server.index) + href for href in hrefs]


def page_at(web: Web, url: str) -> int:
    parts = urlsplit(url)
    page = web.find(
        web.servers_by_address[parts.hostname or ""], parts.path + (f"?{parts.query}" if parts.query else "")
    )
    assert page is not None, url
    return page


def crawl(web: Web) -> set[int]:
    """All pages that a naive crawl of the HTML fetches with 200, obeying robots.txt and passing by dead servers."""
    queue = deque(page_at(web, url) for url in web.seeds())
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
        found = {page_at(web, url) for url in links_in(web, page)} - seen
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


def test_links_stay_on_their_server_by_three_quarters() -> None:
    """Links to the own server, fix-ups included, are about 75 %; none leads to its own page."""
    web = build_web(SPEC)
    links = [(page, target) for page in range(1200) for target in web.links(page)]
    local = sum(web.server_of[page] == web.server_of[target] for page, target in links)
    assert local / len(links) == pytest.approx(0.75, abs=0.03)
    assert all(page != target for page, target in links)


@pytest.mark.parametrize("spec", [SPEC, BROKEN])
def test_crawl_of_the_html_fetches_what_is_expected(spec: WebSpec) -> None:
    """A naive crawl from the seeds gets exactly the expected URLs."""
    web = build_web(spec)
    assert {web.url(page) for page in crawl(web)} == set(web.expected_urls())


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


def test_pagerank_of_a_star() -> None:
    """Pages 1 and 2 link to 0, 0 to 1: r2 = .05, r0 = .05 + .85(r1 + r2), r1 = .05 + .85 r0, so r0 = .135 / .2775."""
    assert pagerank([[1], [0], [0]]) == pytest.approx([0.48649, 0.46351, 0.05], abs=1e-4)


def test_quality_is_in_page_and_file(tmp_path: Path) -> None:
    """The meta tag, `quality()` and the scores file say the same."""
    web = build_web(replace(SPEC, quality="zipf")).at(8000)
    web.write_scores(tmp_path / "scores.tsv")
    lines = [line.split("\t") for line in (tmp_path / "scores.tsv").read_text().splitlines()]
    body = answer(web, web.servers[0], "/", 1).body.decode()
    assert [(url, float(score)) for url, score in lines] == [(web.url(page), web.scores[page]) for page in range(1200)]
    assert f'<meta name="quality" content="{web.scores[0]!r}">' in body
