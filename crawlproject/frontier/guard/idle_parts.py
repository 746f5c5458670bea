"""Finds parts of a server's addresses that do not change the page: visit ids, tokens, ``?print=1``, ``/raw``.

The evidence is two pages that show the same, with addresses that differ in one part only.  Six such copies show that
the part is idle, unless many pages refute it.  Equal records of a table look the same (``?date=...``: no events), so
copies of the same few pages, and those that differ from each other in a number or a date, count an eighth.  An address
with an idle part waits only if its page is known under another address, because it may be the only way to the page.
"""

from __future__ import annotations

import re
from array import array
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar
from zlib import crc32

from crawlproject.frontier.state import Stored, packed, unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: Parts counted per server, and their length (characters); the one with the fewest pages is forgotten.
MAX_PARTS, MAX_LENGTH = 64, 40
#: Parameters that differ between two addresses of a page; more prove nothing of each.
MAX_TOGETHER = 4
#: Parts of one address that are examined.
MAX_OF_URL = 8
#: Hashes kept per server: of the last pages, and of what they show, without each part.
MAX_PAGES = 2048

#: Placed behind an address without its idle parts: no URL ends so, and links to the address itself are still followed.
VERSION = "#"

# A session id: letters and digits mixed; perhaps with signs around it, as in "(S(1f0a))" and "~1f0a".
_id = re.compile(
    r"[^0-9a-z]{0,2}(?:[a-z][^0-9a-z])?(?=[a-z]{0,40}[0-9])(?=[0-9]{0,40}[a-z])[0-9a-z]{8,64}[^0-9a-z]{0,3}",
    re.IGNORECASE,
).fullmatch
# A number or date, which may select a record.
_number = re.compile(r"[0-9]{1,8}|[0-9]{1,4}(?:[-./:_][0-9]{1,4}){1,5}").fullmatch
_path_parameter = re.compile(r";([a-z0-9_.-]{1,40})=[^;/?]*", re.IGNORECASE)


@dataclass(slots=True)
class Evidence:
    """What pages show of one part."""

    copies: int = 0  # pages that show it to be idle, pages that refute it, in eighths
    others: int = 0
    value: int = 0  # hash of its first value
    bases: list[int] = field(default_factory=list)  # hashes of some addresses without it that were copied

    BASES: ClassVar[int] = 4  # addresses from which copies of known ones count in full

    def weight(self, part: str, url: str, base: str, *, is_plain: bool) -> int:
        """What a page at ``url`` counts, in eighths; ``base``: the same without the part; ``is_plain``: it is a copy of
        the page at ``base``."""
        value, key = _value(part, url), _hash(base)
        self.value = self.value or _hash(value)
        is_weak = _hash(value) != self.value and not is_plain and _number(value) is not None
        if len(self.bases) < self.BASES:
            is_weak = is_weak or key in self.bases
            self.bases += [key] * (key not in self.bases)
        return 1 if is_weak else 8


class IdleParts(Stored):
    """The parts of one server: ``?name``, ``;name``, ``#3`` (an id as the third segment), ``/raw``, ``.ics``."""

    MIN_COPIES: ClassVar[int] = 6
    #: Pages with a parameter that need not be copies, as a share of those that are: the original may come later.  Half
    EXCEPTIONS: ClassVar[float] = 0.25  # of the pages may be copies where a parameter selects one of two languages

    __slots__ = ("_counts", "_idle", "_pages", "are_linked")

    def __init__(self) -> None:
        self.are_linked = False  # whether pages link to addresses that have parts, so that all pages are remembered
        self._counts: dict[str, Evidence] = {}
        self._idle: set[str] = set()
        self._pages = array("I")  # hashes of the addresses of the last pages, without each part

    def to_state(self) -> dict[str, Any]:
        parts = {part: [each.copies, each.others, each.value, each.bases] for part, each in self._counts.items()}
        return {"parts": parts, "pages": packed(self._pages)}

    def restore(self, state: Any) -> None:
        self._counts = {part: Evidence(*values) for part, values in dict(state["parts"]).items()}
        for part in self._counts:
            self._judge(part)
        self._pages = unpacked(state["pages"])

    @property
    def is_empty(self) -> bool:
        """Whether no part is idle. O(1)."""
        return not self._idle

    def learn(self, url: str, first: str | None, *, is_page: bool, shown: Callable[[], int]) -> bool:
        """Learn from the answer at the canonical ``url``; ``first``: the earlier page that has nearly the same text.

        ``is_page``: it is HTML.  ``shown``: returns a hash of all that it shows.  Returns whether a part has become
        idle.  O(length), O(MAX_PAGES) with a part.
        """
        parts = dict(_parts(url))
        if not (parts or self._pages or self.are_linked):
            return False
        what = shown() if is_page else 0
        idle = {part for part, base in parts.items() if is_page and _hash(base, what) in self._pages}
        names = _names(url)
        if not idle and is_page and names and _hash(names, what) in self._pages:
            idle = {part for part in parts if part[0] == "?"}  # several differ at once
        known = {} if first is None else dict(_parts(first))
        near = {part for part, base in parts.items() if first is not None and _is_base(base, first, known.get(part))}
        near |= _of_several(url, first) if first is not None and not near else set()
        near |= {part for part, base in known.items() if base == url and part not in parts}  # /a?x=1, then /a
        idle |= near
        if not is_page:
            idle = {part for part in parts if part[0] in "/."}
        is_sibling = first is not None and first.partition("?")[0] == url.partition("?")[0]
        found = False
        for part in idle:
            base = parts.get(part, url)
            is_plain = base == first or _hash(base + VERSION, what) in self._pages
            found = self._count(part, url, base, is_plain=is_plain) or found
        for part in () if is_sibling else parts.keys() & self._counts.keys() - idle:
            if part[0] in "/." or _hash(parts[part]) in self._pages:
                evidence = self._counts[part]
                evidence.others += evidence.weight(part, url, parts[part], is_plain=False)
                self._judge(part)
        for each in (url, *parts.values()):
            self._pages.extend((_hash(each), _hash(each, what)))
        self._pages.append(_hash(url + VERSION, what))
        self._pages.extend([_hash(names, what)] * bool(names))
        del self._pages[: max(0, len(self._pages) - MAX_PAGES)]
        return found

    def is_version(self, url: str, is_seen: Callable[[str], bool]) -> bool:
        """Whether the page at the canonical ``url`` is known by another address; ``is_seen``: a URL is. O(length)."""
        base = self.without(url)
        if base == url:
            return is_seen(base + VERSION)
        others = [base, base + VERSION] if "?" in base else [base, base + VERSION, f"{base}/", f"{base}.html"]
        return any(each != url and is_seen(each) for each in others) or _hash(base) in self._pages

    def sorter(self, is_seen: Callable[[str], bool], mark: Callable[[str], None]) -> Callable[[str], bool]:
        """A function for all queued URLs, one after the other: whether each leads to a page known by another address.

        Of several such addresses the first one is none; ``mark``: adds the address of its page to the seen.
        """

        def is_version(url: str) -> bool:
            if self.is_version(url, is_seen):
                return True
            base = self.without(url)
            if base != url:
                mark(base + VERSION)
            return False

        return is_version

    def without(self, url: str) -> str:
        """The canonical ``url`` without idle parts. O(length)."""
        for _ in range(MAX_OF_URL):
            base = next((base for part, base in _parts(url) if part in self._idle), None)
            if base is None:
                break
            url = base
        return url

    def _count(self, part: str, url: str, base: str, *, is_plain: bool) -> bool:
        """Count a page that shows ``part`` to be idle; returns whether it has become so."""
        if part not in self._counts:
            if len(self._counts) >= MAX_PARTS:
                forgotten = min(self._counts, key=lambda each: self._counts[each].copies + self._counts[each].others)
                del self._counts[forgotten]
                self._idle.discard(forgotten)
            self._counts[part] = Evidence()
        evidence = self._counts[part]
        evidence.copies += evidence.weight(part, url, base, is_plain=is_plain)
        was_idle = part in self._idle
        self._judge(part)
        return part in self._idle and not was_idle

    def _judge(self, part: str) -> None:
        copies, others = self._counts[part].copies, self._counts[part].others
        is_idle = copies >= 8 * self.MIN_COPIES and others <= (0 if part[0] in "/." else copies * self.EXCEPTIONS)
        (self._idle.add if is_idle else self._idle.discard)(part)


def _value(part: str, url: str) -> str:
    found = re.search(rf"[?&;]{re.escape(part[1:])}=([^&;/?]*)", url) if part[0] in "?;" else None
    return part if found is None else found[1]


def _names(url: str) -> str:
    path, _, query = url.partition("?")
    names = [each.partition("=")[0] for each in query.split("&")]
    return f"{path}?{'&'.join(names)}" if 1 < len(names) <= MAX_TOGETHER else ""


def may_have_parts(url: str) -> bool:
    """Whether the canonical ``url`` has a parameter, or an id in its path. O(length)."""
    return "?" in url or ";" in url or any(map(_id, url.split("/")[3 : 3 + MAX_OF_URL]))


def _hash(url: str, shown: int = 0) -> int:
    return crc32(url.encode("utf-8", "surrogatepass"), shown)


def _is_base(base: str, first: str, base_of_first: str | None) -> bool:
    return base == base_of_first or first.rstrip("/") == base.rstrip("/")


def _of_several(url: str, first: str) -> set[str]:
    """The parameters in which two addresses with the same ones differ; none if they are too many."""
    path, _, query = url.partition("?")
    first_path, _, first_query = first.partition("?")
    mine, others = ([each.partition("=") for each in text.split("&")] for text in (query, first_query))
    if path != first_path or not query or [name for name, *_ in mine] != [name for name, *_ in others]:
        return set()
    changed = {f"?{one[0]}"[:MAX_LENGTH] for one, other in zip(mine, others, strict=True) if one != other}
    return changed if len(changed) <= MAX_TOGETHER else set()


def _parts(url: str) -> Iterator[tuple[str, str]]:
    """The first parts of the canonical ``url`` that may be idle, each with the URL without it. O(length)."""
    path, mark, query = url.partition("?")
    parameters = query.split("&") if mark else []
    for place, parameter in enumerate(parameters[:MAX_OF_URL]):
        rest = "&".join(parameters[:place] + parameters[place + 1 :])
        yield f"?{parameter.partition('=')[0]}"[:MAX_LENGTH], f"{path}?{rest}" if rest else path
    rest = mark + query
    for match in _path_parameter.finditer(path, path.find("/", 8)):
        yield f";{match[1].lower()}", path[: match.start()] + path[match.end() :] + rest
    segments = path.split("/")
    last = len(segments) - (path[-1:] == "/")  # an id as the last segment is that of a page
    for place, segment in enumerate(segments[3 : 3 + MAX_OF_URL], start=3):
        if _id(segment) and (place < last - 1 or place == 3 < last):
            yield f"#{place - 2}", "/".join(segments[:place] + segments[place + 1 :]) + rest
    if not mark:
        end = path.rstrip("/").rpartition("/")[2]
        name, dot, extension = end.rpartition(".")
        if len(segments) > 4 and 0 < len(end) < MAX_LENGTH and not end.isdigit() and not _id(end):
            yield f"/{end}", path.rstrip("/").removesuffix(f"/{end}")
        if name and 0 < len(extension) < MAX_LENGTH:
            yield f".{extension}", path.rstrip("/").removesuffix(dot + extension)
