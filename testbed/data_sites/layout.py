"""How the records of a site become pages: their addresses, and the links by which they are found."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache
from html import escape
from itertools import count as counter
from urllib.parse import quote, unquote

from testbed.data_sites.frame import frame
from testbed.data_sites.site import Render, Site, chance, items, key, link, words
from testbed.data_sites.templates import START

#: Title and HTML of a record by its number.
Record = Callable[[int], tuple[str, str]]
#: What a request leaves on its page, by the number of the request.
Noise = Callable[[int], str]

PER_LIST = 20
#: Requests beyond the pages of a site whose empty pages have no end.
BUDGET = 300


@dataclass(frozen=True)
class Layout:
    """Where the records of a site are, and how they are linked.

    Addresses are templates with ``n`` (the number), ``day`` (START and ``n`` days), ``key`` (hexadecimal), ``word``,
    ``group`` (25 records each), ``tree`` (/f/m/m, the way down a binary tree).
    """

    address: str
    count: int
    #: To the record before and the one after.
    chain: bool = True
    #: Lists of 20 records; {} is the page's number.  With ``all_lists``, each list links to all others.
    lists: str = ""
    all_lists: bool = False
    #: Folders from the outermost to the innermost: all records for which the template gives the same path.
    folders: tuple[str, ...] = ()
    #: To so many records anywhere.
    others: int = 0
    #: The record that the home page links to; -1: the last.
    entry: int = -1
    #: Empty pages without end before the first record, after the last.
    empty_before: bool = False
    empty_after: bool = False
    #: Records that are empty.
    gaps: frozenset[int] = frozenset()
    #: What is there where nothing is: "": 404; "text", "echo", "home", "last": 200.
    missing: str = ""
    noise: Noise | None = None
    #: Text of an empty page.
    empty: str = "No data."
    #: Links that each record has besides, by its number: HTML.
    aside: Callable[[int], str] | None = None

    def path(self, site: str, number: int) -> str:
        """The address of a record, or of an empty page beyond."""
        day = START + timedelta(number) if "{day" in self.address else START
        word = "-".join(words(2, site, number).split()) if "{word" in self.address else ""
        hexed = key(40, site, number) if "{key" in self.address else ""
        where = tree(number) if "{tree" in self.address else ""
        path = self.address.format(n=number, day=day, word=word, key=hexed, group=number // 25, tree=where)
        return quote(path, safe="/?=&;:,.")


def tree(number: int) -> str:
    """The way down a binary tree to its node of that number: /f or /m at each fork."""
    return "".join("/f" if digit == "0" else "/m" for digit in f"{number + 1:b}"[1:])


@dataclass
class Pages:
    """The pages of one site."""

    site: str
    record: Record
    layout: Layout
    paths: list[str] = field(init=False)
    numbers: dict[str, int] = field(init=False)
    folders: dict[str, list[tuple[str, str]]] = field(init=False)

    def __post_init__(self) -> None:
        self.frame = frame(self.site)
        self.paths = [self.layout.path(self.site, number) for number in range(self.layout.count)]
        self.numbers = {path: number for number, path in enumerate(self.paths)}
        self.title = cache(lambda number: self.record(number)[0])
        self.folders = self._folders()

    def _folders(self) -> dict[str, list[tuple[str, str]]]:
        """Each folder with its links and the labels of folders; the home page is the outermost."""
        found: defaultdict[str, dict[str, str]] = defaultdict(dict)
        for number, path in enumerate(self.paths):
            outer = "/"
            for template in self.layout.folders:
                inner = Layout(template, 1).path(self.site, number)
                found[outer][inner] = unquote(inner.strip("/").split("/")[-1])
                outer = inner
            if self.layout.folders:
                found[outer][path] = ""
        return {path: list(links.items()) for path, links in found.items()}

    def _folder_link(self, inner: tuple[str, str]) -> str:
        path, label = inner
        return link(path, label or self.title(self.numbers[path]))

    @property
    def last_list(self) -> int:
        return -(-self.layout.count // PER_LIST)

    def real(self) -> frozenset[str]:
        """The paths of all pages that are not empty."""
        full = (path for number, path in enumerate(self.paths) if number not in self.layout.gaps)
        lists = (self._list_path(page) for page in range(1, self.last_list + 1) if self.layout.lists)
        return frozenset(["/", *self.frame.menu, *full, *lists, *self.folders])

    def _list_path(self, page: int) -> str:
        return quote(self.layout.lists.format(page), safe="/?=&")

    def render(self, path: str, noise: str) -> str | None:
        """The page at ``path``, with ``noise``, HTML, beside its links."""
        if path == "/":
            return self._home(noise)
        number = self._number(path)
        if number is not None:
            return self._record(number, noise)
        if path in self.folders:
            title = unquote(path).strip("/").replace("/", " ")
            return self.frame.page(title, items(map(self._folder_link, self.folders[path])), "", noise)
        page = self._list(path, noise)
        return page or self.frame.about(path, noise) or self._missing(path, noise)

    def _number(self, path: str) -> int | None:
        """The number of a record, or of an empty page where these have no end."""
        if path in self.numbers:
            return self.numbers[path]
        digits = re.findall("[0-9]+", path)
        joined = "".join(digits)
        if not (self.layout.empty_before or self.layout.empty_after) or not joined or len(joined) > 9:
            return None
        number = int(digits[-1])
        if "{day" in self.layout.address:
            try:
                number = (date(int(joined[:-4]), int(joined[-4:-2]), int(joined[-2:])) - START).days
            except ValueError:
                return None
        is_there = self._is_there(number)
        return number if is_there and self.layout.path(self.site, number) == path else None

    def _is_there(self, number: int) -> bool:
        if "{day" in self.layout.address and not -700_000 < number < 2_900_000:
            return False  # the years 1 to 9999, which a date may have
        before, after = self.layout.empty_before, self.layout.empty_after
        return (number >= 0 or before) and (number < self.layout.count or after)

    def _home(self, noise: str) -> str:
        entry = self.layout.entry % self.layout.count
        links = [link(self.paths[entry], self.title(entry))]
        if self.layout.lists:
            links.append(link(self._list_path(1), "All"))
        links += map(self._folder_link, self.folders.get("/", ()))
        if not self.layout.chain and (self.layout.lists or self.layout.folders):
            del links[0]
        return self.frame.page(f"Welcome to {self.site}", f"<p>{words(30, self.site)}</p>", items(links), noise)

    def _record(self, number: int, noise: str) -> str:
        layout, has_data = self.layout, 0 <= number < self.layout.count
        is_full = has_data and number not in layout.gaps
        day = f" {START + timedelta(number):%d %B %Y}" if "{day" in layout.address else ""
        title, body = self.record(number) if is_full else (f"{self.frame.name}{day}", f"<p>{layout.empty}</p>")
        boxes = ""
        if layout.chain:
            around = ((number - 1, "Previous"), (number + 1, "Next"))
            boxes += " | ".join(
                link(layout.path(self.site, each), label) for each, label in around if self._is_there(each)
            )
        if layout.others:
            draw = chance(self.site, "others", number)
            near = [(number + 1) % layout.count, *(draw.randrange(layout.count) for _ in range(layout.others))]
            boxes += "<h4>See also</h4>" + items(link(self.paths[each], self.title(each)) for each in near)
        boxes += "<h4>Newest</h4>" + items(
            link(self.paths[each], self.title(each)) for each in range(layout.count - 5, layout.count)
        )
        if layout.aside is not None:
            boxes += layout.aside(number)
        return self.frame.page(title, body, boxes, noise)

    def _list(self, path: str, noise: str) -> str | None:
        template = self.layout.lists
        digits = re.findall("[0-9]+", path)
        page = int(digits[-1]) if template and digits and len(digits[-1]) < 6 else 0
        if not 1 <= page <= self.last_list or self._list_path(page) != path:
            return None
        shown = range((page - 1) * PER_LIST, min(page * PER_LIST, self.layout.count))
        pages = range(1, self.last_list + 1) if self.layout.all_lists else (page - 1, page + 1)
        boxes = " ".join(link(self._list_path(each), each) for each in pages if 1 <= each <= self.last_list)
        return self.frame.page(
            f"Page {page}", items(link(self.paths[each], self.title(each)) for each in shown), boxes, noise
        )

    def _missing(self, path: str, noise: str) -> str | None:
        kind = self.layout.missing
        if kind == "home":
            return self._home(noise)
        if kind == "last":
            return self._record(self.layout.count - 1, noise)
        text = {
            "text": "Sorry, there is no such page.",
            "echo": f"We found nothing for {escape(unquote(path[1:]))}.",
        }.get(kind)
        return None if text is None else self.frame.page("Not found", f"<p>{text}</p>", "", noise)


def build(site: str, kind: str, record: Record, layout: Layout) -> Site:
    """A site of records."""
    pages, requests = Pages(site, record, layout), counter(1)

    def quiet(path: str) -> str | None:
        return pages.render(path, "")

    def noisy(path: str) -> str | None:
        assert layout.noise is not None
        return pages.render(path, layout.noise(next(requests)))

    render: Render = quiet if layout.noise is None else noisy
    is_endless = layout.empty_before or layout.empty_after
    budget = (BUDGET if is_endless or layout.missing else 0) + len(layout.gaps)
    return Site(render, pages.real(), budget, f"{kind}; {layout.address}", quiet, is_endless=is_endless)
