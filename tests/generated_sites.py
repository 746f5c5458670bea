"""Sites made up page by page, as real ones are built and as traps are: for walks of the guard and for whole crawls.

A site maps a path to its HTML, or None where there is nothing.  ``real`` says which paths have new text on them: they
must all be fetched; all others are the trap.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from random import Random
from typing import NamedTuple

#: What ``render`` gives for a redirect begins so; its target follows.
REDIRECT = "redirect: "
#: What it gives for plain text begins so.
PLAIN = "plain text: "

Render = Callable[[str], str | None]

MONTHS = [
    *("January", "February", "March", "April", "May", "June", "July"),
    *("August", "September", "October", "November", "December"),
]
DAYS = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"]
_SYLLABLES = [first + last for first in "bdfgklmnprstvz" for last in ("a", "e", "i", "o", "u", "an", "er", "il")]


class Site(NamedTuple):
    """A site and what must be found on it."""

    render: Render
    #: Paths of pages with new text.
    real: frozenset[str]


def words(seed: object, count: int) -> str:
    """So many words, always the same for ``seed``, of some 12,000 that there are."""
    draw = Random(f"words {seed}")
    return " ".join("".join(draw.choices(_SYLLABLES, k=2)) for _ in range(count))


def html(title: str, text: str, links: Iterable[str], extra: str = "") -> str:
    """A page in the frame that all pages of a site share."""
    anchors = "".join(f'<li><a href="{link.replace("&", "&amp;")}">{_label(link)}</a></li>' for link in links)
    return (
        f"<html><head><title>{title}</title></head><body><h1>{title}</h1><p>Welcome to our site. <a href='/'>Home</a>"
        f"<p>{text}</p>{extra}<ul>{anchors}</ul><p>Made by us, page made in 0.0123 s.</body></html>"
    )


def _label(link: str) -> str:
    return f"page {re.sub('[^0-9]+', ' ', link).strip()}"


def _by(path: str, pattern: str) -> list[int] | None:
    found = re.fullmatch(pattern, path)
    return None if found is None else [int(number) for number in found.groups() if number is not None]


def _number(path: str, pattern: str, most: int) -> int | None:
    """The number in a path of ``pattern``, if it is one from 1 to ``most``."""
    found = _by(path, pattern)
    return found[0] if found is not None and 1 <= found[0] <= most else None


def _around(number: int, first: int, last: int, form: str) -> list[str]:
    return [form.format(each) for each in (number - 1, number + 1) if first <= each <= last]


def chain(form: str, pattern: str, count: int, length: int = 60, *, start: int = 1) -> Site:
    """Articles with a link to the one before and the one after, of which the home page knows one."""

    def render(path: str) -> str | None:
        if path == "/":
            return html("Home", "Our newest article", [form.format(start)])
        number = _number(path, pattern, count)
        if number is None:
            return None
        return html(f"Article {number}", words((form, number), length), _around(number, 1, count, form))

    return Site(render, frozenset(["/", *(form.format(number) for number in range(1, count + 1))]))


def chain_with_gaps() -> Site:
    """A chain of which every fifth page, and four in a row, say nothing."""
    count = 60

    def render(path: str) -> str | None:
        if path == "/":
            return html("Home", "Notes", ["/note-1"])
        number = _number(path, r"/note-([0-9]+)", count)
        if number is None:
            return None
        is_empty = number % 5 == 0 or 21 <= number <= 24
        text = "This page is intentionally left blank." if is_empty else words(number, 30)
        return html("Notes", text, _around(number, 1, count, "/note-{}"))

    return Site(render, frozenset(["/", *(f"/note-{number}" for number in range(1, count + 1))]))


def diary() -> Site:
    """A page for each day of ten months, with little on it, and the days before and after."""
    days = [(2011 + month // 12, month % 12 + 1, day) for month in range(10) for day in range(1, 29)]
    paths = [f"/{year}/{month:02}/{day:02}/" for year, month, day in days]

    def render(path: str) -> str | None:
        if path == "/":
            return html("Diary", "Dear diary", [paths[-1]])
        if path not in paths:
            return None
        at = paths.index(path)
        year, month, day = days[at]
        title = f"{DAYS[at % 7]}, {MONTHS[month - 1]} {day}, {year}"
        return html(title, words(path, 12), [paths[each] for each in (at - 1, at + 1) if 0 <= each < len(paths)])

    return Site(render, frozenset(["/", *paths]))


def comic() -> Site:
    """A picture on each page and next to no text; each has a transcript."""
    count = 60

    def render(path: str) -> str | None:
        if path == "/":
            return html("Comic", "Strips", [f"/comic/{count}"])
        number = _number(path, r"/comic/([0-9]+)(?:/transcript)?", count)
        if number is None:
            return None
        if path.endswith("transcript"):
            return html(f"Transcript {number}", words(number, 20), [f"/comic/{number}"])
        links = [*_around(number, 1, count, "/comic/{}"), f"/comic/{number}/transcript"]
        return html(f"Comic {number}", "", links, f'<img src="/strips/{number:04}.png">')

    paths = [f"/comic/{number}{end}" for number in range(1, count + 1) for end in ("", "/transcript")]
    return Site(render, frozenset(["/", *paths]))


def gallery() -> Site:
    """Tables of numbers, and nothing else that is new."""
    count = 40

    def render(path: str) -> str | None:
        if path == "/":
            return html("Yearbook", "Tables", ["/table-1.html"])
        number = _number(path, r"/table-([0-9]+)\.html", count)
        if number is None:
            return None
        draw = Random(path)
        cells = "".join(f"<td>{draw.randrange(10_000, 900_000)}</td>" for _ in range(30))
        return html(
            "Table", "Births and deaths", _around(number, 1, count, "/table-{}.html"), f"<table>{cells}</table>"
        )

    return Site(render, frozenset(["/", *(f"/table-{number}.html" for number in range(1, count + 1))]))


def blog(form: str, pattern: str) -> Site:
    """Listings of ten posts each, by number; posts lead back to the home page alone."""
    pages, each = 40, 5

    def post(number: int) -> str:
        return f"/{words(number, 2).replace(' ', '-')}/"

    posts = {post(number): number for number in range(pages * each)}

    def render(path: str) -> str | None:
        if path in posts:
            return html(words(posts[path], 3), words(f"post {path}", 80), [])
        page = 1 if path == "/" else _number(path, pattern, pages)
        if page is None:
            return None
        shown = [post(number) for number in range((page - 1) * each, page * each)]
        anchors = "".join(f'<a href="{link}">{words(posts[link], 3)}</a> ' for link in shown)
        return html("Blog", "Newest posts", _around(page, 2, pages, form), anchors)

    listings = [form.format(number) for number in range(2, pages + 1)]
    return Site(render, frozenset(["/", *listings, *posts]))


def forum() -> Site:
    """Threads of some pages each, found from boards; threads lead to the next thread."""
    threads, pages = 30, 4

    def render(path: str) -> str | None:
        if path == "/":
            return html("Forum", "Boards", ["/viewforum.php?f=1&start=0"])
        board = _by(path, r"/viewforum\.php\?f=1&start=([0-9]+)")
        if board is not None:
            first = board[0]
            titles = "".join(
                f'<a href="/viewtopic.php?start=0&amp;t={each}">{words(f"topic {each}", 4)}</a>'
                for each in range(first, min(threads, first + 10))
            )
            following = [f"/viewforum.php?f=1&start={first + 10}"] if first + 10 < threads else []
            return html("Board", "Topics", following, titles) if 0 <= first < threads else None
        topic = _by(path, r"/viewtopic\.php\?start=([0-9]+)&t=([0-9]+)")
        if topic is None or not (topic[0] < pages * 15 and topic[1] < threads):
            return None
        start, number = topic
        links = [f"/viewtopic.php?start={page * 15}&t={number}" for page in range(pages)]
        links += [f"/viewtopic.php?start=0&t={each}" for each in (number - 1, number + 1) if 0 <= each < threads]
        return html(words(f"topic {number}", 4), words((start, number), 120), links)

    topics = [f"/viewtopic.php?start={page * 15}&t={number}" for page in range(pages) for number in range(threads)]
    boards = [f"/viewforum.php?f=1&start={first}" for first in range(0, threads, 10)]
    return Site(render, frozenset(["/", *boards, *topics]))


def wiki() -> Site:
    """Articles by name, each with a history and old versions; one page asks for a login on all others' behalf."""
    names = [words(f"name {number}", 1).title() + str(number) for number in range(40)]

    def render(path: str) -> str | None:
        if path == "/":
            return html("Wiki", "Articles", [f"/wiki/{name}" for name in names[:3]])
        found = re.fullmatch(r"/wiki/(\w+)", path)
        if found is not None and found[1] in names:
            at = names.index(found[1])
            links = [f"/wiki/{names[each % 40]}" for each in (at * 7 + 1, at * 3 + 2, at + 1)]
            tools = [f"/index.php?action=history&title={found[1]}", f"/index.php?returnto={found[1]}&title=Login"]
            return html(found[1], words(found[1], 80), [*links, *tools])
        history = re.fullmatch(r"/index\.php\?action=history&title=(\w+)", path)
        if history is not None and history[1] in names:
            old = [f"/index.php?oldid={names.index(history[1]) * 3 + each}&title={history[1]}" for each in range(3)]
            return html("History", f"{words(('who', path), 6)}", old)
        version = re.fullmatch(r"/index\.php\?oldid=([0-9]+)&title=(\w+)", path)
        if version is not None:
            number = int(version[1])
            links = [
                f"/index.php?oldid={each}&title={version[2]}"
                for each in (number - 1, number + 1)
                if each // 3 == number // 3
            ]
            return html(version[2], words((path, "old"), 60), links)
        return html("Login", "Your name and password, please", []) if path.startswith("/index.php?returnto=") else None

    articles = [f"/wiki/{name}" for name in names]
    histories = [f"/index.php?action=history&title={name}" for name in names]
    old = [f"/index.php?oldid={at * 3 + each}&title={name}" for at, name in enumerate(names) for each in range(3)]
    return Site(render, frozenset(["/", *articles, *histories, *old]))  # each article's own login


def shop() -> Site:
    """A category of 20 pages, each sorted and filtered in all ways that show the same products again."""
    products, each = 200, 10
    filters = ["color", "price", "size", "sort", "stock", "view"]

    def render(path: str) -> str | None:
        if path == "/":
            return html("Shop", "Welcome", ["/shop?page=1"])
        product = _by(path, r"/product/([0-9]+)")
        if product is not None:
            return html(words(f"p{product[0]}", 3), words(path, 40), []) if product[0] < products else None
        found = re.fullmatch(r"/shop\?(.+)", path)
        if found is None:
            return None
        given = dict(part.split("=") for part in found[1].split("&"))
        page = int(given.pop("page"))
        if not (1 <= page <= products // each and given.keys() <= set(filters)):
            return None
        shown = list(range((page - 1) * each, page * each))
        Random(str(sorted(given))).shuffle(shown)
        links = [f"/shop?{_query({**given, 'page': number})}" for number in (page - 1, page + 1) if 0 < number <= 20]
        links += [
            f"/shop?{_query({**given, name: value, 'page': 1})}"
            for name in filters
            if name not in given
            for value in ("a", "b", "c")
        ]
        anchors = "".join(f'<a href="/product/{number}">{words(f"p{number}", 3)}</a>' for number in shown)
        return html("Products", "Choose", links, anchors)

    pages = [f"/shop?page={number}" for number in range(1, products // each + 1)]
    items = [f"/product/{number}" for number in range(products)]
    return Site(render, frozenset(["/", *pages, *items]))


def _query(given: dict[str, object]) -> str:
    return "&".join(f"{name}={given[name]}" for name in sorted(given))


def plain() -> Site:
    """Pages by number that link to each other at random."""
    count = 300
    paths = [f"/d{number % 7}/p{number}.html" for number in range(count)]

    def render(path: str) -> str | None:
        if path != "/" and path not in paths:
            return None
        at = -1 if path == "/" else paths.index(path)
        links = [paths[each] for each in {(at * 5 + 3) % count, (at * 11 + 7) % count, (at + 1) % count}]
        return html(f"Page {at}", words(path, 25), links)

    return Site(render, frozenset(["/", *paths]))


def reports() -> Site:
    """Reports of every night, below indexes of years, months and nights that have nothing but dates."""
    nights = [f"{month}/{night}" for month in range(1, 13) for night in range(1, 11)]
    days = [f"/{night}/index.html" for night in nights]
    results = [f"/{night}/{kind}.html" for night in nights for kind in ("smoke", "slow")]

    def render(path: str) -> str | None:
        if path == "/":
            return html("Reports", "", [f"/{month}/index.html" for month in range(1, 13)])
        if found := _by(path, r"/([0-9]+)/index\.html"):
            return html("Reports", "", [day for day in days if day.startswith(f"/{found[0]}/")])
        if path in days:
            start = path.removesuffix("index.html")
            return html("Reports", "", [f"{start}smoke.html", f"{start}slow.html"])
        return html("Results", words(path, 9), []) if path in results else None

    return Site(render, frozenset(["/", *(f"/{month}/index.html" for month in range(1, 13)), *days, *results]))


def problems() -> Site:
    """Problems by number: one list describes them, another has nothing but their codes."""
    count, each = 400, 10
    paths = [f"/problem-{number}a" for number in range(count)]
    last = count // each

    def render(path: str) -> str | None:
        if path in paths:
            return html(words(path, 2), words(path, 30), [])
        found = re.fullmatch(r"/(?:(all|codes)/page/([0-9]+))?", path)
        if found is None or not 1 <= int(found[2] or 1) <= last:
            return None
        number = int(found[2] or 1)
        shown = paths[(number - 1) * each : number * each]
        label = words if found[1] != "codes" else lambda entry, _: f"{len(entry)}{entry[9:].upper()}"
        anchors = "".join(f'<a href="{entry}">{label(entry, 3)}</a>' for entry in shown)
        links = [f"/{found[1] or 'all'}/page/{number + 1}", *(["/codes/page/1"] if path == "/" else [])]
        return html("Problems", "All of them", links, anchors)

    lists = [f"/{name}/page/{number}" for name in ("all", "codes") for number in range(1, last + 1)]
    lists.remove("/all/page/1")
    return Site(render, frozenset(["/", *lists, *paths]))


def _month_page(year: int, month: int, links: list[str]) -> str:
    return html(f"{MONTHS[month - 1]} {year}", f"No events in {MONTHS[month - 1]} {year}.", links)


def calendar(form: str, pattern: str, day_form: str = "") -> Site:
    """A calendar that has every month there ever was and will be, and nothing in it.

    ``pattern``: with groups ``year``, ``month`` and perhaps ``day``.
    """

    def render(path: str) -> str | None:
        if path == "/":
            return html("Club", words("club", 40), [form.format(2020, 6), "/about"])
        if path == "/about":
            return html("About", words("about us", 40), [])
        found = re.fullmatch(pattern, path)
        if found is None:
            return None
        year, month, day = (int(found.groupdict().get(name) or 0) for name in ("year", "month", "day"))
        if day:
            title = f"{DAYS[(day + month) % 7]} {day} {MONTHS[month - 1]} {year}"
            return html(title, "Nothing on this day.", [form.format(year, month)])
        number = year * 12 + month - 1
        links = [form.format(each // 12, each % 12 + 1) for each in (number - 1, number + 1)]
        return _month_page(year, month, links + [day_form.format(year, month, day) for day in range(1, 29) if day_form])

    return Site(render, frozenset(["/", "/about"]))


def calendar_of_events() -> Site:
    """Events in ten years, and a calendar of months without end around them."""

    def event(year: int, month: int) -> str:
        return f"/event/{year * 37 + month * 3}.html"

    months = [(year, month) for year in range(2015, 2025) for month in range(1, 13)]
    events = {event(*each) for each in months}

    def render(path: str) -> str | None:
        if path == "/":
            return html("Club", "Welcome", ["/calendar/2020/06/"])
        if path in events:
            return html("Event", words(path, 30), [])
        found = _by(path, r"/calendar/([0-9]{4})/([0-9]{2})/")
        if found is None:
            return None
        number = found[0] * 12 + found[1] - 1
        links = [f"/calendar/{each // 12}/{each % 12 + 1:02}/" for each in (number - 1, number + 1)]
        return _month_page(*found, links + [event(*found)] * (tuple(found) in months))

    paths = [f"/calendar/{year}/{month:02}/" for year, month in months]
    return Site(render, frozenset(["/", *events, *paths]))


def deeper() -> Site:
    """Real pages, each with a relative link that should have been absolute."""
    names = [words(f"section {number}", 1) for number in range(8)]

    def render(path: str) -> str | None:
        parts = path.strip("/").split("/")
        if path == "/":
            return html("Home", "Sections", [f"/{name}/" for name in names])
        if not path.endswith("/") or parts[-1] not in names:
            return None
        return html(parts[-1], words(parts[-1], 50), [f"{parts[-1]}/"])

    return Site(render, frozenset(["/", *(f"/{name}/" for name in names)]))


def past_the_end() -> Site:
    """A blog of 20 listings, and a next page after the last one for ever."""

    def render(path: str) -> str | None:
        found = [1] if path == "/" else _by(path, r"/page/([0-9]+)/")
        if found is None:
            return None
        text = words(path, 50) if found[0] <= 20 else "No posts found."
        return html(f"Page {found[0]}", text, [f"/page/{found[0] + 1}/"])

    return Site(render, frozenset(["/", *(f"/page/{number}/" for number in range(2, 21))]))


def two_that_lead_on() -> Site:
    """An endless number of pages that say nothing, each with a print version that says as little."""

    def render(path: str) -> str | None:
        found = [0] if path == "/" else _by(path, r"(?:/print)?/p/([0-9]+)")
        if found is None:
            return None
        return html("Page", "Lorem ipsum", [f"/p/{found[0] + 1}", f"/print/p/{found[0] + 1}"])

    return Site(render, frozenset(["/"]))


def in_turn() -> Site:
    """Endless pages that say nothing: months lead only to weeks, weeks to days, days to months."""
    kinds = ("months", "weeks", "days")

    def render(path: str) -> str | None:
        if path == "/":
            return html("Diary", "Welcome", ["/months/1"])
        found = re.fullmatch("/(months|weeks|days)/([0-9]+)", path)
        if found is None:
            return None
        return html("Diary", "Nothing yet", [f"/{kinds[kinds.index(found[1]) - 2]}/{int(found[2]) + 1}"])

    return Site(render, frozenset(["/"]))


def forms() -> Site:
    """A calendar each day of which has a form for a new event."""

    def render(path: str) -> str | None:
        if path == "/":
            return html("Club", "Welcome", ["/cal?month=1&year=2020"])
        if path.startswith("/new?"):
            return html("New event", "Title, place and time", [])
        found = _by(path, r"/cal\?month=([0-9]+)&year=([0-9]+)")
        if found is None:
            return None
        number = found[1] * 12 + found[0] - 1
        links = [f"/cal?month={each % 12 + 1}&year={each // 12}" for each in (number - 1, number + 1)]
        links += [f"/new?date={found[1]}-{found[0]:02}-{day:02}" for day in range(1, 29)]
        return _month_page(found[1], found[0], links)

    return Site(render, frozenset(["/"]))


def downloads() -> Site:
    """A calendar each month of which can be downloaded as plain text."""

    def render(path: str) -> str | None:
        if path == "/":
            return html("Club", "Welcome", ["/calendar/2020/06/"])
        found = _by(path, r"/calendar/([0-9]+)/([0-9]+)/(?:\?ical=1)?")
        if found is None:
            return None
        if path.endswith("ical=1"):
            return f"{PLAIN}BEGIN:VCALENDAR\nDTSTART:{found[0]}{found[1]:02}01\nEND:VCALENDAR\n"
        number = found[0] * 12 + found[1] - 1
        links = [f"/calendar/{each // 12}/{each % 12 + 1:02}/" for each in (number - 1, number + 1)]
        return _month_page(*found, [*links, f"{path}?ical=1"])

    return Site(render, frozenset(["/"]))


def sharing() -> Site:
    """Each article has a page for sharing it, with a text, and a login that leads back, without."""
    count = 40

    def render(path: str) -> str | None:
        if path.startswith("/login?next="):
            return html("Login", "Your name and password, please", [])
        shared = re.fullmatch(r"/share\?u=http(?::|%3A)//[0-9.:a-z]+/article-([0-9]+)", path)
        number = shared[1] if shared else path.removeprefix("/article-")
        if path != "/" and not (number.isdigit() and int(number) < count):
            return None
        if shared:
            return html("Share", f"Tell your friends: {words(f'share {number}', 8)}", [])
        links = [f"/article-{each}" for each in range(count)] if path == "/" else []
        if path != "/":
            links = [f"/share?u={{root}}{path}", f"/login?next={{root}}{path}"]
        return html(f"Article {number}", words(path, 40), links)

    articles = [f"/article-{number}" for number in range(count)]
    shares = [f"/share?u={{root}}{path}" for path in articles]
    return Site(render, frozenset(["/", *articles, *shares]))


def members() -> Site:
    """Each article has a login that leads back to its path, and comments that only its path names."""
    count = 60

    def render(path: str) -> str | None:
        if path.startswith("/login?next="):
            return html("Login", "Your name and password, please", [])
        about = path.removeprefix("/comments?on=")
        number = about.removeprefix("/article-")
        if path != "/" and not (number.isdigit() and int(number) < count):
            return None
        if about != path:
            return html("Comments", words(path, 8), [f"/article-{number}"])
        links = [f"/article-{each}" for each in range(count)]
        if path != "/":
            links = [f"/login?next={path}", f"/comments?on={path}"]
        return html(f"Article {number}", words(path, 40), links)

    articles = [f"/article-{number}" for number in range(count)]
    return Site(render, frozenset(["/", *articles, *(f"/comments?on={path}" for path in articles)]))


def replies() -> Site:
    """Each article has a login, and a page for answering it that redirects to one; both lead back.

    A login links to a form for new members that leads back to the same page, and this form to the login.
    """
    count = 60

    def render(path: str) -> str | None:
        form, _, back = path.partition("?next=")
        if back and form in ("/login", "/register"):
            text = "Your name and password, please" if form == "/login" else "Become a member"
            return html(form, text, [f"{'/register' if form == '/login' else '/login'}?next={back}"])
        number = path.removeprefix("/article-").removesuffix("/reply")
        if path != "/" and not (number.isdigit() and int(number) < count):
            return None
        if path.endswith("/reply"):
            return f"{REDIRECT}/login?next={path}"
        if path == "/":
            return html("Home", "Our newest article", ["/article-0"])
        links = [f"{path}/reply", f"/login?next={path}", f"/article-{int(number) + 1}"]
        return html(f"Article {number}", words(path, 40), links)

    return Site(render, frozenset(["/", *(f"/article-{number}" for number in range(count))]))


def logins() -> Site:
    """Articles each of which has a login that leads back, which redirects to the one page for it."""
    count = 40

    def render(path: str) -> str | None:
        if path.startswith("/sign-in?next="):
            return f"{REDIRECT}/sign-in"
        if path == "/sign-in":
            return html("Login", "Your name and password, please", [])
        number = path.removeprefix("/article-")
        if path != "/" and not (number.isdigit() and int(number) < count):
            return None
        links = [f"/article-{each}" for each in range(count)] if path == "/" else [f"/sign-in?next={{root}}{path}"]
        return html(f"Article {number}", words(path, 40), links)

    return Site(render, frozenset(["/", "/sign-in", *(f"/article-{number}" for number in range(count))]))


REAL = {
    "nodes": chain("/node{}.html", r"/node([0-9]+)\.html", 61),
    "newest first": chain("/?p={}", r"/\?p=([0-9]+)", 300, start=300),
    "news": chain("/view_news.php?id={}", r"/view_news\.php\?id=([0-9]+)", 164, 30, start=80),
    "short": chain("/quote/{}", r"/quote/([0-9]+)", 120, 3),
    "gaps": chain_with_gaps(),
    "diary": diary(),
    "comic": comic(),
    "tables": gallery(),
    "blog": blog("/blog/page/{}", r"/blog/page/([0-9]+)"),
    "archives": blog("/archives/page/{}/", r"/archives/page/([0-9]+)/"),
    "forum": forum(),
    "wiki": wiki(),
    "plain": plain(),
    "reports": reports(),
    "problems": problems(),
}
TRAPS = {
    "shop": shop(),
    "months": calendar("/calendar/{}/{:02}/", r"/calendar/(?P<year>[0-9]+)/(?P<month>[0-9]+)/"),
    "parameters": calendar(
        "/cal.php?month={1}&year={0}",
        r"/cal\.php\?(?:day=(?P<day>[0-9]+)&)?month=(?P<month>[0-9]+)&year=(?P<year>[0-9]+)",
        "/cal.php?day={2}&month={1}&year={0}",
    ),
    "days": calendar(
        "/events/{}/{:02}", r"/events/(?P<year>[0-9]+)/(?P<month>[0-9]+)(?:/(?P<day>[0-9]+))?", "/events/{}/{:02}/{:02}"
    ),
    "events": calendar_of_events(),
    "deeper": deeper(),
    "past the end": past_the_end(),
    "two": two_that_lead_on(),
    "in turn": in_turn(),
    "forms": forms(),
    "sharing": sharing(),
    "members": members(),
}
