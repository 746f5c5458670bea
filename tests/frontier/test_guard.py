"""The guard's decisions on endless servers and on harmless ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from uuid import NAMESPACE_URL, uuid5

import pytest

from crawlproject.content.page_marks import page_marks
from crawlproject.frontier import Entry, Frontier, QualityFirst
from crawlproject.frontier.guard import judge as guard
from crawlproject.frontier.guard.judge import Guard, Visit, demoted, is_dropped
from crawlproject.frontier.guard.watched_patterns import (
    MAX_MARKS,
    MAX_PATTERNS,
    MIN_NUMBERS,
    GuardLimits,
    Marks,
    Pattern,
)
from crawlproject.frontier.queues.sort_key import DEMOTED, DEMOTION
from tests.frontier.guard_walk import Shown, Walk
from tests.frontier.invariants import check
from tests.generated_sites import words

SITE = "http://a.example"

LIMITS = GuardLimits()

#: Path -> paths of the links on it.
Links = Callable[[str], list[str]]


def walk(
    links: Links, limits: GuardLimits = LIMITS, most: int = 2000, text: Callable[[str], str] = lambda _: ""
) -> Walk:
    """A breadth-first walk of a site with these links and texts (no texts: all pages show the same)."""

    def page_of(url: str) -> Shown:
        path = url.removeprefix(SITE)
        return Shown([SITE + link for link in links(path)], lambda: page_marks(url, None, text(path)))

    return Walk([SITE + "/"], page_of, limits, most=most)


def paths(done: Walk) -> list[str]:
    """Paths of the pages fetched."""
    return [url.removeprefix(SITE) for url in done.fetched]


def months(path: str) -> list[str]:
    """A calendar with a home page."""
    if path == "/":
        return ["/calendar/2020/06/", "/about"]
    if not path.startswith("/calendar"):
        return ["/"]
    year, month = map(int, path.split("/")[2:4])
    number = year * 12 + month - 1
    return ["/", *(f"/calendar/{each // 12}/{each % 12 + 1:02}/" for each in (number - 1, number + 1))]


def chain(path: str) -> list[str]:
    """Pages that link only to the next page."""
    return ["/p/1"] if path == "/" else [f"/p/{int(path[3:]) + 1}"]


class OneServer:
    """A guard and a server that it judges, page by page."""

    def __init__(self, limits: GuardLimits = LIMITS) -> None:
        self.frontier = Frontier(QualityFirst())
        self.frontier.push([Entry(SITE + "/")])
        server = self.frontier.server(SITE)
        assert server is not None
        self.server = server
        self.guard = Guard(limits, self.frontier.server)
        self.last: set[str] = set()  # demoted paths

    def learn(self, path: str, links: Iterable[str], *marks: int, is_copy: bool = False) -> set[str]:
        """The demoted ``links`` of a page with ``marks``."""
        shown = frozenset(marks)
        page = self.guard.page(SITE + path, lambda: shown, Visit(is_copy, was_last=path in self.last))
        assert page is not None
        demoted = {url.removeprefix(SITE) for url in page.learn([SITE + link for link in links])}
        self.last |= demoted
        return demoted


def test_a_calendar_ends_after_a_few_months() -> None:
    """It is detected after five pages."""
    done = walk(months)
    assert [path for path in paths(done) if not path.startswith("/calendar")] == ["/", "/about"]
    assert len(done.fetched) == 2 + GuardLimits.max_dates
    assert done.servers[SITE].guard.spent == ["/calendar/@"]


def test_a_chain_ends_where_its_pages_show_the_same() -> None:
    """After eight pages; refused links are counted."""
    done = walk(chain)
    assert paths(done) == ["/", *(f"/p/{n}" for n in range(1, GuardLimits.max_same + 1))]
    assert len(done.dropped) == 1


@pytest.mark.parametrize("length", [1, 40])
def test_a_chain_goes_on_as_long_as_there_is_text(length: int) -> None:
    """Even little text: 100 pages, then 100 without text, of which a few are fetched."""

    def text(path: str) -> str:
        number = int(path.removeprefix("/p/") if path != "/" else 0)
        return words(number, length) if number <= 100 else "nothing"

    done = walk(chain, text=text)
    assert (
        100 + GuardLimits.max_same < len(done.fetched) <= 101 + GuardLimits.max_same + 100 // GuardLimits.NEWS_PER_PAGE
    )


def test_a_list_is_followed_to_its_end() -> None:
    """Each page shows items but no text: nothing is refused, at any length."""

    def site(path: str) -> list[str]:
        if path == "/":
            return ["/list?page=1"]
        if path.startswith("/item"):
            return ["/"]
        page = int(path.partition("=")[2])
        return [f"/item/{page * 10 + n}" for n in range(10)] + [f"/list?page={page + 1}"] * (page < 100)

    done = walk(site, text=lambda path: words(path, 9) if path.startswith("/item") else "")
    assert len(done.fetched) == 1 + 100 + 1000
    assert done.refused == set()


def test_items_that_lead_to_others_are_all_fetched() -> None:
    """3,000 products with six related ones each, and a list of the first hundred."""

    def site(path: str) -> list[str]:
        if path == "/":
            return [f"/item/{n}" for n in range(100)]
        number = int(path.rpartition("/")[2])
        return [f"/item/{(number * 7 + n * 1013) % 3000}" for n in range(6)]

    assert len(walk(site, most=5000, text=lambda path: words(path, 4)).fetched) == 3001


def test_links_from_outside_count_after_a_pattern_was_dropped() -> None:
    """Pages linked from elsewhere are fetched last; new text revives the pattern."""
    one = OneServer()
    for number in range(1, 12):
        one.learn(f"/p/{number}", [f"/p/{number + 1}"], 2)
    assert one.server.guard.spent == ["/p/#"]
    page = one.guard.page(SITE + "/p/12", lambda: frozenset([2]))
    assert page.refuses(SITE + "/p/13")
    outside = one.guard.page(SITE + "/about", lambda: None)
    assert not outside.refuses(SITE + "/p/13")
    assert one.learn("/about", ["/p/13", "/contact"]) == {"/p/13"}
    assert one.learn("/p/13", ["/p/14"], 2, 4) == set()
    assert one.server.guard.spent == []
    assert one.learn("/about", ["/p/15"]) == set()


def test_one_page_without_text_demotes_nothing_and_three_in_a_row_do() -> None:
    """Until a page shows text again."""
    one = OneServer()
    marks_shown = [4, 4, 6, 6, 6, 6, 8, 8]
    demoted_from_them = [False, False, False, False, True, True, False, False]
    for number, (mark, is_demoted) in enumerate(zip(marks_shown, demoted_from_them, strict=True)):
        assert (one.learn(f"/p/{number}", [f"/p/{number + 1}"], mark) != set()) == is_demoted


def test_a_chain_by_uuids_ends_like_one_by_numbers() -> None:
    """All of them have one pattern."""

    def site(path: str) -> list[str]:
        return [f"/doc/{uuid5(NAMESPACE_URL, path)}"]

    assert len(walk(site).fetched) == len(walk(chain).fetched)


def test_patterns_that_lead_only_to_each_other_end_on_a_large_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many links their pages have, so that none is far from the home page."""
    monkeypatch.setattr(guard, "WATCHED_FROM_PAGES", 20)

    def site(path: str) -> list[str]:
        name, number = ("b", 0) if path == "/" else (path[1], int(path[3:]))
        return [f"/{'a' if name == 'b' else 'b'}/{3 * number + each}" for each in range(3)]

    done = walk(site)
    assert sorted(done.servers[SITE].guard.spent) == ["/a/#", "/b/#"]
    assert len(done.fetched) < 1000


def test_two_patterns_that_lead_to_each_other_are_seen_through() -> None:
    """Months and weeks do not count as news for each other without end."""

    def site(path: str) -> list[str]:
        kind, number = path[1:].split("/") if path != "/" else ("month", "0")
        at = int(number)
        return (
            [f"/month/{at + 1}", f"/week/{at * 4 + 7}"] if kind == "month" else [f"/week/{at + 1}", f"/month/{at // 4}"]
        )

    assert len(walk(site).fetched) < 100


def test_limits_can_be_switched_off() -> None:
    """Then the chain is followed."""
    assert len(walk(chain, GuardLimits(max_same=0, max_own_urls=0), most=500).fetched) == 500


def tarpit(path: str) -> list[str]:
    """Each page links to five new ones."""
    number = 0 if path == "/" else int(path[3:])
    return [f"/f/{number * 5 + n + 1}" for n in range(5)]


def test_a_pattern_that_always_has_new_text_is_bounded_by_its_number() -> None:
    """It ranks last from a tenth of ``max_own_urls`` on, and ends soon after the limit."""
    limits = GuardLimits(max_own_urls=1000)

    def site(path: str) -> list[str]:
        if path == "/":
            return ["/f/1", "/real/a"]
        if path.startswith("/real"):
            return [path + "a"] if len(path) < 200 else []
        return tarpit(path)

    done = walk(site, limits, most=5000, text=lambda path: words(path, 20))
    assert 1000 <= sum(path.startswith("/f") for path in paths(done)) <= 1010
    last_real = max(at for at, path in enumerate(paths(done)) if path.startswith("/real"))
    assert sum(path.startswith("/f") for path in paths(done)[:last_real]) <= 250


def test_what_a_pattern_of_copies_finds_of_itself_comes_last() -> None:
    """For half of ten pages or more; nothing is refused, and URLs found elsewhere keep their quality."""
    one = OneServer()
    for number in range(9):
        one.guard.learn_content(one.server, f"{SITE}/edit?t={number}", copy=True)
    own, other = "/edit?t=11", "/view?t=11"
    assert one.learn("/edit?t=0", [own, other]) == set()
    one.guard.learn_content(one.server, f"{SITE}/edit?t=9", copy=False)
    assert one.learn("/edit?t=1", [own, other], 2) == {own}
    assert not one.guard.page(f"{SITE}/edit?t=1", lambda: None).refuses(SITE + own)
    assert one.learn("/", [own]) == set()


def test_a_server_of_copies_stands_out() -> None:
    """Four fifths of fifty pages or more."""
    one = OneServer()
    for number in range(100):
        one.frontier.servers.learn_content(SITE, copy=number % 5 > 0)
        assert one.guard.standing_out(one.server) == ("copies" if number >= 49 and number % 5 == 4 else "")
    released = Guard(GuardLimits(), one.frontier.server, lambda key: key == SITE)
    assert released.standing_out(one.server) == ""
    assert released.page(SITE + "/", lambda: None) is None


def test_a_server_of_which_much_is_refused_stands_out() -> None:
    """A thousand URLs, twenty for each page."""
    one = OneServer()
    one.learn("/p/1", ["/p/2"])
    one.server.guard.refused = 20 * one.server.guard.listed
    assert one.guard.standing_out(one.server) == ""
    one.server.guard.refused = 1000
    assert one.guard.standing_out(one.server) == "refused"


def test_memory_of_a_server_is_bounded() -> None:
    """With any number of patterns, the most suspicious ones are kept."""

    def site(path: str) -> list[str]:
        if path == "/":
            return [f"/{chr(97 + n // 26)}{chr(97 + n % 26)}/1" for n in range(600)]
        name, number = path[1:].split("/")
        return [f"/{name}/{int(number) + n}" for n in range(1, 3)]

    done = walk(site, most=5000)
    assert len(done.servers[SITE].guard.patterns) == MAX_PATTERNS


def marks(*values: int) -> Marks:
    """These, in order."""
    return frozenset(values)


def test_what_a_pattern_has_shown_is_bounded_and_kept() -> None:
    """Beyond the maximum it restarts with its newest page; marks are stored if they decide."""
    pattern = Pattern("/p/#", listed=1)
    for start in range(0, 20 * MAX_MARKS, 100):
        assert pattern.shows_new(marks(*range(start, start + 100, 2)))
        assert not pattern.shows_new(marks(*range(start, start + 100, 2)))
        assert len(pattern.marks) <= MAX_MARKS
    pattern.same, pattern.dry = 1, 1
    assert len(Pattern.from_state(pattern.to_state()).marks) == 0
    pattern.same = 2
    again = Pattern.from_state(pattern.to_state())
    assert again.to_state() == pattern.to_state()
    assert not again.shows_new(frozenset(pattern.marks))


def test_a_few_numbers_are_no_news() -> None:
    """A counter or a generation time is new on each page; a table of numbers is news."""
    pattern = Pattern("/p/#", listed=1)
    assert pattern.shows_new(marks(2, 1))
    few = range(3, 3 + 2 * (MIN_NUMBERS - 1), 2)
    assert not pattern.shows_new(marks(2, *few))
    assert pattern.shows_new(marks(2, *range(101, 101 + 2 * MIN_NUMBERS, 2)))


def test_doubted_urls_come_last_until_they_show_something() -> None:
    """Then they keep their rank; if they show nothing, or copies, they are refused."""
    one = OneServer()
    login, share = "/login?u=http://a.example/{}", "/share?u=http://a.example/{}"
    for number in range(8):
        assert one.learn(f"/{number}.html", [login.format(number)]) == {login.format(number)}
        is_last = one.learn(f"/{number}.html", [share.format(number)]) != set()
        assert is_last == (number < GuardLimits.CLEARED_FROM)
        if number < GuardLimits.max_dates:
            one.learn(login.format(number), [], 2)
        one.learn(share.format(number), [], 2 * number)
    assert one.server.guard.spent == ["!/login?u"]
    page = one.guard.page(SITE + "/about", lambda: None)
    assert page.refuses(SITE + login.format(9))
    assert not page.refuses(SITE + share.format(9))
    assert one.server.guard.refused == 0  # on each good page
    assert one.guard.page(SITE + login.format(0), lambda: marks(2)).refuses(SITE + login.format(9))
    assert one.server.guard.refused == 1
    copies = OneServer()
    for number in range(GuardLimits.max_dates):
        copies.learn(f"/a/b/a/b/{number}", [], 2 * number, is_copy=True)
    assert copies.server.guard.spent == ["!repeated_path"]


def test_a_page_fetched_again_says_nothing() -> None:
    """A recrawl finds known texts, and drops nothing because of them."""
    one = OneServer()
    for number in range(1, 4):
        one.learn(f"/p/{number}", [f"/p/{number + 1}"], 2 * number)
    before = one.server.guard.to_state()["patterns"]
    for number in range(1, 4):
        for _ in range(5):
            page = one.guard.page(f"{SITE}/p/{number}", lambda: marks(2), Visit(is_known=True))
            assert page.learn([]) == set()
    assert one.server.guard.to_state()["patterns"] == before


def test_of_a_pattern_that_is_dropped_only_what_it_found_of_itself_goes() -> None:
    """For dates and doubted URLs, all queued URLs are dropped."""
    found, last = Entry(SITE + "/p/1", 0.5), demoted(Entry(SITE + "/p/2", 0.5))
    assert (last.quality, last.priority) == (0.5 * DEMOTION, DEMOTED)
    assert [is_dropped(entry, "/p/#", "/p/#") for entry in (found, last)] == [False, True]
    assert not is_dropped(last, "/q/#", "/p/#")
    assert is_dropped(last, "/shop?sort", "/shop?")
    assert is_dropped(found, "/@", "/@")
    assert is_dropped(found, "!/login?u", "!/login?u")


@pytest.mark.parametrize("policy_rank", [0.0, 1.0])
def test_guarded_servers_come_last(policy_rank: float) -> None:
    """Whatever their URLs are worth; their order among each other stays."""
    frontier = Frontier(QualityFirst())
    qualities = {"a": 9.0, "b": 8.0, "c": policy_rank, "d": 2.0}
    frontier.push(Entry(f"http://{name}.example/", quality) for name, quality in qualities.items())
    for name in "ab":
        frontier.servers.rank_last(frontier.server(f"http://{name}.example"), "copies")
    order = []
    while (session := frontier.open_session(0.0)) is not None:
        order.append(session.server.key[7])
    assert order == ["d", "c", "a", "b"]
    check(frontier)


def closed_pages(server: OneServer, *paths: str) -> list[bool]:
    """Count pages closed to robots; whether each made its pattern rank last."""
    return [server.guard.closed_page(SITE + path) is not None for path in paths]


def test_urls_of_a_pattern_closed_to_robots_rank_last() -> None:
    """Once all of enough pages were, wherever the URLs are found, also on pages of the same script."""
    server = OneServer()
    pages = [f"/w?title={n}&action=edit" for n in range(GuardLimits.CLOSED_FROM)]
    assert closed_pages(server, *pages) == [False] * (len(pages) - 1) + [True]
    assert closed_pages(server, "/w?title=a&action=edit") == [False]  # said once
    assert server.learn("/about", ["/w?title=new&action=edit", "/w?title=new"]) == {"/w?title=new&action=edit"}
    assert server.learn("/w?title=b", ["/w?title=c&action=edit", "/w?title=c"], 2) == {"/w?title=c&action=edit"}


def test_one_open_page_keeps_its_pattern_in_its_place() -> None:
    """Seen before or after: articles and special pages may share a pattern."""
    server = OneServer()
    closed_pages(server, "/w?title=Special:Log")
    server.learn("/w?title=Article", [])
    many = [f"/w?title=Special:{n}" for n in range(2 * GuardLimits.CLOSED_FROM)]
    assert not any(closed_pages(server, *many))
    assert server.learn("/about", ["/w?title=Other"]) == set()


def test_an_open_page_opens_its_pattern_again() -> None:
    """The pages were closed by chance."""
    server = OneServer()
    closed_pages(server, *(f"/log/{n}" for n in range(GuardLimits.CLOSED_FROM)))
    assert server.learn("/about", ["/log/100"]) == {"/log/100"}
    server.learn("/log/100", [])
    assert server.learn("/about", ["/log/101"]) == set()


def test_patterns_closed_to_robots_are_limited() -> None:
    """A server with a pattern for each page; a page without pattern is not counted."""
    server = OneServer()
    closed_pages(server, "/edit", *(f"/edit{'x' * n}?title" for n in range(MAX_PATTERNS + 10)))
    assert server.server.guard is not None
    assert len(server.server.guard.closed) == MAX_PATTERNS
