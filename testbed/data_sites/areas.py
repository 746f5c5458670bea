"""Areas without end, or of far too many pages: products, searches, histories, folders, mazes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl, urlencode, urlsplit

from testbed.data_sites import noise
from testbed.data_sites.beside import Answer, Area, Trap, at_home, everywhere
from testbed.data_sites.calendars import CALENDARS
from testbed.data_sites.site import PLAIN, REDIRECT, chance, items, key, link, name, words

if TYPE_CHECKING:
    from collections.abc import Callable

#: Requests for products that the site really has: each page differs.
PRODUCTS = 1_000


def _address(path: str, **given: object) -> str:
    return f"{path}?{urlencode(sorted(given.items()))}"


def _query(path: str, root: str) -> dict[str, str] | None:
    parts = urlsplit(path)
    return dict(parse_qsl(parts.query)) if parts.path == root else None


_SECTIONS = [name("section", at).lower() for at in range(6)]


def _growing(path: str) -> Answer:
    parts = path.strip("/").split("/")
    if not path.endswith("/") or not set(parts) <= set(_SECTIONS):
        return None
    return parts[-1], f"<p>{words(40, parts[-1])}", [f"{each}/" for each in _SECTIONS]  # relative, by mistake


def _growing_query(path: str) -> Answer:
    if not path.startswith("/browse?"):
        return None
    return "Browse", "<p>Choose what to show.", [f"{path}&open={at}" for at in range(1, 4)]


def _products(path: str) -> Answer:
    """120 products by five facets, of which a page has any choice."""
    given = _query(path, "/list")
    if given is None:
        return None
    facets = {"brand": 6, "color": 5, "price": 4, "size": 5, "year": 6}
    if not all(each in facets and value in "012345" for each, value in given.items()):
        return None
    shown = [
        at for at in range(120)
        if all(chance(facet, at).randrange(facets[facet]) == int(given[facet]) for facet in facets if facet in given)
    ]  # fmt: skip
    chance(sorted(given.items())).shuffle(shown)
    more = [{**given, facet: at} for facet, most in facets.items() if facet not in given for at in range(most)]
    body = items(link(f"/product/{at}", words(2, "product", at)) for at in shown)
    return f"{len(shown)} products", body, [_address("/list", **each) for each in more]


def _sorted(path: str) -> Answer:
    given = _query(path, "/sorted")
    if given is None:
        return None
    ways = {"dir": "ad", "per": "123", "sort": "abcde", "view": "gl", "page": "123456"}
    if not all(each in ways and value in ways[each] for each, value in given.items()):
        return None
    first = (int(given.get("page", "1")) - 1) * 20
    shown = list(range(first, first + 20))
    chance(sorted(given.items())).shuffle(shown)
    body = items(link(f"/product/{at}", words(2, "product", at)) for at in shown)
    more = [{**given, way: each} for way, values in ways.items() for each in values if given.get(way) != each]
    return "Products", body, [_address("/sorted", **each) for each in more]


def _goods(listing: Area) -> Area:
    def area(path: str) -> Answer:
        found = re.fullmatch("/product/([0-9]{1,3})", path)
        if found is None or int(found[1]) >= 120:
            return listing(path)
        return words(2, "product", int(found[1])), f"<p>{words(25, path)}", []

    return area


_GOODS = frozenset(f"/product/{at}" for at in range(120))
_TAGS = [name("tag", at).lower() for at in range(12)]


def _tags(path: str) -> Answer:
    parts = path.removeprefix("/tag/").split("+")
    if not path.startswith("/tag/") or not set(parts) <= set(_TAGS) or sorted(set(parts)) != parts:
        return None
    shown = [at for at in range(60) if all(chance(at, tag).random() < 0.4 for tag in parts)]
    more = [f"/tag/{'+'.join(sorted([*parts, tag]))}" for tag in _TAGS if tag not in parts]
    return " ".join(parts), items(words(3, "tagged", at) for at in shown), more


def _search(path: str) -> Answer:
    given = _query(path, "/search")
    if given is None:
        return None
    asked = given.get("q", "")
    near = [words(1, asked, at) for at in range(4)]
    more = [*near, *(f"{asked} {each}" for each in near[:2])]
    found = items(words(6, "found", at) for at in chance(asked).sample(range(40), chance(asked).randrange(4)))
    return f"Results for {asked}", found or "<p>Nothing found.", [_address("/search", q=each) for each in more]


def _history(path: str) -> Answer:
    given = _query(path, "/index.php")
    if given is None:
        return None
    title, old = given.get("title", ""), int(given.get("oldid", "0"))
    if not 0 <= old < 40:
        return None
    if given.get("action") == "history":
        links = [_address("/index.php", title=title, oldid=at) for at in range(40)]
        return "History", items(f"{at} May, user {at % 7}" for at in range(40)), links
    links = [_address("/index.php", title=title, oldid=old, diff=at) for at in range(max(0, old - 6), old)]
    return title, f"<p>Revision {old}: {words(40, title)} {words(2, title, old)}", links


def _pages(form: str, last: int, beyond: str) -> Area:
    """A list by number with a next page behind each: behind the last, it is shown again (""), or is empty."""

    def area(path: str) -> Answer:
        found = re.fullmatch(re.escape(form).replace(r"\{\}", "([0-9]{1,9})"), path)
        if found is None:
            return None
        page = int(found[1])
        text = (
            f"<p>{beyond}" if beyond and page > last else items(words(3, form, min(page, last), at) for at in range(9))
        )
        return "Archive", text, [form.format(each) for each in (page - 1, page + 1) if each > 0]

    return area


def _echo(path: str) -> Answer:
    found = re.fullmatch(r"/find/([\w-]+)", path)
    more = [f"/find/{found[1]}-{each}" for each in ("new", "used", "cheap")] if found else []
    return (found[1], f"<p>We have no offers for {found[1].replace('-', ' ')}.", more) if found else None


def _redirects(path: str) -> Answer:
    found = re.fullmatch("/out/([0-9a-f]{12})", path)
    return f"{REDIRECT}/out/{key(12, found[1])}" if found else None


def _hopping(path: str) -> Answer:
    found = re.fullmatch("/(hop|at)/([0-9a-f]{12})", path)
    if found is None:
        return None
    if found[1] == "hop":
        return f"{REDIRECT}/at/{key(12, found[2])}"
    return "Offer", "<p>This offer has ended.", [f"/hop/{key(12, found[2], at)}" for at in range(2)]


def _folders(path: str) -> Answer:
    if not path.startswith("/files/") or not path.endswith("/"):
        return None
    names = [f"{path}{name(path, at).lower()}/" for at in range(2)]
    return f"Index of {path}", "<pre>Name  Last modified  Size</pre>", names


def _maze(form: str, pattern: str, page: Callable[[str], str]) -> Area:
    def area(path: str) -> Answer:
        if not re.fullmatch(pattern, path):
            return None
        links = [
            form.format(word="-".join(words(2, path, at).split()), n=chance(path, at).randrange(10**8))
            for at in range(5)
        ]
        return words(3, path), page(path), links

    return area


def _pictures(path: str) -> Answer:
    """Each has a picture that no other has, and nothing else."""
    found = re.fullmatch("/random/([0-9]{1,8})", path)
    more = [f"/random/{chance(path, at).randrange(10**8)}" for at in range(2)]
    return ("Random", f"<img src='/img/{key(12, path)}.png'>", more) if found else None


def _same_pattern(path: str) -> Answer:
    """Under addresses like those of real records of the third kind of part."""
    found = re.fullmatch("/i/([0-9a-f]{10})", path)
    more = [f"/i/{key(10, path, at)}" for at in range(3)]
    return ("Reserved", "<p>This place is reserved for you.", more) if found else None


def _compare(path: str) -> Answer:
    given = _query(path, "/compare")
    if given is None or not re.fullmatch("[0-9]{1,3}(-[0-9]{1,3}){0,3}", given.get("ids", "")):
        return None
    ids = [int(each) for each in given["ids"].split("-")]
    more = (sorted({*ids[-3:], each}) for each in chance(*ids).sample(range(120), 4))
    links = [_address("/compare", ids="-".join(map(str, each))) for each in more]
    return "Compare", items(words(2, "product", at) for at in ids), links


def _exports(path: str) -> Answer:
    """A calendar that offers each month as plain text, too."""
    found = re.fullmatch(r"(/cal/[0-9]{4}-[0-9]{2})(\?ical=1)?", path)
    answer = CALENDARS["calendar"].area(f"/calendar/{found[1][5:].replace('-', '/')}/") if found else None
    if found and found[2] and answer:
        return f"{PLAIN}BEGIN:VCALENDAR\nDTSTART:{found[1][5:]}\nEND:VCALENDAR\n"
    if not isinstance(answer, tuple):
        return None
    links = ("/cal/" + each.removeprefix("/calendar/").strip("/").replace("/", "-") for each in answer[2])
    return answer[0], answer[1], [*links, f"{path}?ical=1"]


AREAS = {
    "growing-path": Trap("relative links that should be absolute", _growing,
        at_home(*(f"/{each}/" for each in _SECTIONS)), real=frozenset(f"/{each}/" for each in _SECTIONS)),
    "growing-query": Trap("each link adds a parameter", _growing_query, everywhere("/browse?open=1")),
    "facets": Trap("products by five facets", _goods(_products), everywhere("/list"), PRODUCTS, real=_GOODS),
    "sort": Trap("sort, direction, view, size", _goods(_sorted), everywhere("/sorted?page=1"),
        real=_GOODS | {f"/sorted?page={at}" for at in range(1, 7)}),
    "tags": Trap("combinations of twelve tags", _tags, everywhere(*(f"/tag/{tag}" for tag in _TAGS)), PRODUCTS),
    "search": Trap("searches that link to searches", _search, everywhere("/search?q=news")),
    "history": Trap("revisions and their differences", _history,
        lambda path: [_address("/index.php", title=path[1:] or "Home", action="history")]),
    "pages-again": Trap("a list whose last page comes again", _pages("/arc/page/{}", 20, ""), at_home("/arc/page/1"),
        real=frozenset(f"/arc/page/{at}" for at in range(1, 21))),
    "pages-empty": Trap("a list that goes on empty", _pages("/arc?p={}", 20, "No entries."), at_home("/arc?p=1"),
        noise=noise.advert, real=frozenset(f"/arc?p={at}" for at in range(1, 21))),
    "echo": Trap("pages that say their address", _echo, everywhere("/find/cars")),
    "redirects": Trap("redirects to ever new redirects", _redirects, lambda path: [f"/out/{key(12, path)}"]),
    "hops": Trap("redirects to ever new pages", _hopping, lambda path: [f"/hop/{key(12, path)}"]),
    "folders": Trap("folders that all exist", _folders, everywhere("/files/a/")),
    "maze-words": Trap("a maze of words", _maze("/m/{word}", r"/m/[a-z-]+", lambda path: f"<p>{words(60, path)}"),
        everywhere("/m/begin"), is_maze=True),
    "maze-numbers": Trap("a maze of numbers", _maze("/n/{n}", r"/n/[0-9]+", lambda path: f"<p>{chance(path).random()}"),
        everywhere("/n/1"), is_maze=True),
    "pictures": Trap("pictures at random", _pictures, everywhere("/random/1"), is_maze=True),  # as comics are
    "compare": Trap("products compared", _compare, lambda path: [f"/compare?ids={chance(path).randrange(120)}"]),
    "same-pattern": Trap("under addresses like those of real pages", _same_pattern,
        lambda path: [f"/i/{key(10, path)}"], part=2),
    "exports": Trap("a calendar with downloads", _exports, everywhere("/cal/2024-05")),
}  # fmt: skip
