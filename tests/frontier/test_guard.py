"""What the guard makes of servers that lead in circles, and of those that do not."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import pytest

from crawlproject.frontier import Entry, Frontier, QualityFirst
from crawlproject.frontier.guard import Guard
from crawlproject.frontier.sift import set_guarded
from crawlproject.frontier.suspects import MAX_PATTERNS, GuardLimits

SITE = "http://a.example"

LIMITS = GuardLimits()

#: Path -> paths of the links on it.
Site = Callable[[str], list[str]]


class Walk:
    """A breadth-first crawl of one site, demoted URLs last, as the scheduler makes it do."""

    def __init__(self, site: Site, limits: GuardLimits = LIMITS, most: int = 2000) -> None:
        self.frontier = Frontier(QualityFirst())
        self.frontier.push([Entry(SITE + "/")])
        self.server = self.frontier.server(SITE)
        self.guard = Guard(limits, self.frontier.server)
        self.fetched: list[str] = []
        self.refused: set[str] = set()
        self._seen = {"/"}
        first: deque[tuple[str, int]] = deque([("/", 0)])
        last: deque[tuple[str, int]] = deque()
        while (first or last) and len(self.fetched) < most:
            path, depth = (first or last).popleft()
            self.fetched.append(path)
            page = self.guard.page(SITE + path, depth)
            links = {link for link in site(path) if page.refuses(SITE + link)}
            self.refused |= links
            new = [link for link in dict.fromkeys(site(path)) if link not in self._seen and link not in links]
            self._seen.update(new)
            demoted = page.learn([SITE + link for link in new])
            for link in new:
                (last if SITE + link in demoted else first).append((link, depth + 1))
            if page.spent is not None:
                first, last = deque(), deque()


def months(path: str) -> list[str]:
    """A calendar, to which a home page leads."""
    if path == "/":
        return ["/calendar/2020/06/", "/about"]
    if not path.startswith("/calendar"):
        return ["/"]
    year, month = map(int, path.split("/")[2:4])
    number = year * 12 + month - 1
    return ["/", *(f"/calendar/{each // 12}/{each % 12 + 1:02}/" for each in (number - 1, number + 1))]


def chain(path: str) -> list[str]:
    """Pages with a link to the next one only."""
    return ["/p/1"] if path == "/" else [f"/p/{int(path[3:]) + 1}"]


def test_a_calendar_ends_after_a_few_months() -> None:
    """It is seen through after five pages."""
    walk = Walk(months)
    assert [path for path in walk.fetched if not path.startswith("/calendar")] == ["/", "/about"]
    assert len(walk.fetched) == 2 + GuardLimits.max_dates
    assert walk.server.guard.spent == ["/calendar/@"]


def test_a_calendar_of_events_goes_on_as_long_as_they_do() -> None:
    """Each month from 2015 to 2024 has an event: all are found, and few months on either side."""

    def site(path: str) -> list[str]:
        links = months(path)
        year, month = path.split("/")[2:4] if path.startswith("/calendar") else ("0", "0")
        return links + [f"/event/{int(year) * 37 + int(month) * 3}.html"] * (2015 <= int(year) < 2025)

    walk = Walk(site)
    assert sum(path.startswith("/event") for path in walk.fetched) == 120
    assert len(walk.fetched) <= 2 + 2 * 120 + 4 * GuardLimits.max_dates


def test_a_chain_of_numbers_ends() -> None:
    """Four pages that bring nothing but the next."""
    walk = Walk(chain)
    assert walk.fetched == ["/", *(f"/p/{n}" for n in range(1, 6))]
    assert walk.refused == {"/p/6"}


def test_a_list_is_followed_to_its_end() -> None:
    """Each of its pages brings items: nothing is refused, whatever its length."""

    def site(path: str) -> list[str]:
        if path == "/":
            return ["/list?page=1"]
        if path.startswith("/item"):
            return ["/"]
        page = int(path.partition("=")[2])
        return [f"/item/{page * 10 + n}" for n in range(10)] + [f"/list?page={page + 1}"] * (page < 100)

    walk = Walk(site)
    assert len(walk.fetched) == 1 + 100 + 1000
    assert walk.refused == set()


def test_items_that_lead_to_others_are_all_fetched() -> None:
    """3,000 products that show six related ones each, and a list of the first hundred."""

    def site(path: str) -> list[str]:
        if path == "/":
            return [f"/item/{n}" for n in range(100)]
        number = int(path.rpartition("/")[2])
        return [f"/item/{(number * 7 + n * 1013) % 3000}" for n in range(6)]

    walk = Walk(site, most=5000)
    assert len(walk.fetched) == 3001


def test_links_from_outside_bring_a_pattern_on() -> None:
    """Where every second page is found on a page of words, the run never grows."""

    def site(path: str) -> list[str]:
        if path == "/":
            return [f"/chapter-{name}" for name in "abcdefgh"]
        if path.startswith("/chapter"):
            return [f"/p/{100 * (ord(path[-1]) - 96)}"]
        number = int(path[3:])
        return [f"/p/{number + 1}"] if number % 100 < 3 else []

    walk = Walk(site)
    assert len(walk.fetched) == 1 + 8 + 8 * 4
    assert walk.refused == set()


def test_two_patterns_that_lead_to_each_other_are_seen_through() -> None:
    """A page and its print version are not news for ever."""

    def site(path: str) -> list[str]:
        if path == "/":
            return ["/p/1"]
        number = int(path.rpartition("/")[2])
        return [f"/p/{number + 1}", f"/print/p/{number}"]

    walk = Walk(site)
    assert len(walk.fetched) < 100


def test_limits_can_be_switched_off() -> None:
    """Then the chain goes on."""
    assert len(Walk(chain, GuardLimits(max_run=0, max_own_urls=0), most=500).fetched) == 500


def test_a_pattern_that_finds_too_much_of_itself_is_refused() -> None:
    """Facets: each page shows twenty further combinations, none of which is linked from elsewhere."""

    def site(path: str) -> list[str]:
        numbers = "0" if path == "/" else path[3:]
        return [f"/f/{(int(numbers) * 31 + n) % 10_000_019}" for n in range(20)]

    walk = Walk(site, GuardLimits(max_run=0, max_own_urls=300), most=5000)
    assert 300 <= len(walk.fetched) <= 2500


def test_what_a_pattern_of_copies_finds_of_itself_comes_last() -> None:
    """Half of ten pages or more; nothing is refused for it, and what is found elsewhere is worth what it was."""
    walk = Walk(lambda _: [])
    for number in range(9):
        walk.guard.learn_content(walk.server, f"{SITE}/edit?t={number}", copy=True)
    own, other = f"{SITE}/edit?t=11", f"{SITE}/view?t=11"
    assert walk.guard.page(f"{SITE}/edit?t=0", 0).learn([own, other]) == set()
    walk.guard.learn_content(walk.server, f"{SITE}/edit?t=9", copy=False)
    page = walk.guard.page(f"{SITE}/edit?t=1", 0)
    assert page.learn([own, other]) == {own}
    assert not page.refuses(own)
    assert walk.guard.page(SITE + "/", 0).learn([own]) == set()


def test_a_server_of_copies_stands_out() -> None:
    """Half of fifty pages or more."""
    walk = Walk(lambda _: [])
    for number in range(100):
        walk.frontier.learn_content(SITE, copy=number % 2 == 1)
        assert walk.guard.standing_out(walk.server) == ("copies" if number >= 49 and number % 2 else "")
    released = Guard(GuardLimits(), walk.frontier.server, lambda key: key == SITE)
    assert released.standing_out(walk.server) == ""
    assert released.page(SITE + "/", 0) is None


def test_a_server_of_which_much_is_refused_stands_out() -> None:
    """A thousand URLs, twenty for each page."""
    walk = Walk(chain)
    walk.server.guard.refused = 20 * walk.server.guard.listed
    assert walk.guard.standing_out(walk.server) == ""
    walk.server.guard.refused = 1000
    assert walk.guard.standing_out(walk.server) == "refused"


def test_memory_of_a_server_is_bounded() -> None:
    """However many patterns lead sideways, the most suspicious ones are kept."""

    def site(path: str) -> list[str]:
        if path == "/":
            return [f"/{chr(97 + n // 26)}{chr(97 + n % 26)}/1" for n in range(600)]
        name, number = path[1:].split("/")
        return [f"/{name}/{int(number) + n}" for n in range(1, 3)]

    walk = Walk(site, most=5000)
    assert len(walk.server.guard.patterns) == MAX_PATTERNS


@pytest.mark.parametrize("policy_rank", [0.0, 1.0])
def test_guarded_servers_come_last(policy_rank: float) -> None:
    """Whatever their URLs are worth; among each other as before."""
    frontier = Frontier(QualityFirst())
    qualities = {"a": 9.0, "b": 8.0, "c": policy_rank, "d": 2.0}
    frontier.push(Entry(f"http://{name}.example/", quality) for name, quality in qualities.items())
    for name in "ab":
        set_guarded(frontier, frontier.server(f"http://{name}.example"), "copies")
    order = []
    while (session := frontier.open_session(0.0)) is not None:
        order.append(session.server.key[7])
    assert order == ["d", "c", "a", "b"]
    frontier.check()
