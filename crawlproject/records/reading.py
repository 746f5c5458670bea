"""Applies rules to a page, in libxml2's tree of it.

A hostile page can make selectors slow: ``p ~ p`` takes 4.7 s for 3,000 paragraphs, as libxml2 needs cubic time for it,
and nothing interrupts it.  So a selector with a ``Cost`` is used only on pages whose shape allows it; all others take
linear time.  The CPU time for a page is limited as well, and checked between selectors.
"""

from __future__ import annotations

import time
from math import inf
from typing import TYPE_CHECKING, Any

from lxml import etree

from crawlproject.records.rules import FieldRule, Problem, Reading
from crawlproject.records.selectors import LINEAR, MAX_SOURCE, json_value
from crawlproject.urls import resolve
from crawlproject.urls.parse_budget import affordable_length

if TYPE_CHECKING:
    from crawlproject.records.rules import RecordRule
    from crawlproject.records.selectors import Cost, Selector

#: Tags of a page that are used.
MAX_TAGS = 100_000

#: Characters up to which a page is read on the event loop: 3 ms to parse, 0.05 s if it is hostile.
SMALL = 200_000

#: libxml2 compares each attribute of a tag with all others: a longer stretch without a tag is examined first. 5 ms.
_LONG_TAG = 16_384
#: libxml2 before 2.14 has no limit of depth.
_LIMITS_DEPTH = etree.LIBXML_VERSION >= (2, 14)

#: A selector that looks around takes at most this many seconds for each cubed number of children (of elements with more
#: than ``_WIDE``), and for each squared number of tags; one that crosses the page, for each cubed number of elements;
#: one that counts siblings, for each squared number of children.
_PER_CHILDREN, _PER_TAGS, _PER_COUNT = 2e-10, 1e-9, 5e-9
_WIDE = 50
#: One that descends several times: for each level, squared number of elements, and depth.
_PER_LEVEL = 4e-10
#: Depths that are told apart; on deeper pages no costly selector is used.
_DEPTHS = (10, 15, 20, 30, 50, 100, 200)

#: CPU seconds for a page: on the event loop, and off it.
ON_LOOP, OFF_LOOP = 0.1, 2.0

#: Characters of all values of a page: elements within each other repeat their text.
MAX_VALUES = 20_000_000

#: Problems kept of a page and a kind of record.
MAX_PROBLEMS = 100


class OutOfTimeError(Exception):
    """Reading a page took more CPU time than allowed, or gave more than ``MAX_VALUES``."""


class Source:
    """A page to read: its text, parsed at the first use. One of them per page."""

    def __init__(self, text: str, url: str, *, kind: str = "html", base: str | None = None) -> None:
        self.url = url
        self._text = text
        #: html, xml or json.
        self._kind = kind
        self._base = base
        self._root: Any = None
        self._costs: dict[Cost, float] = {LINEAR: 0.0}

    @property
    def is_small(self) -> bool:
        """Whether it may be read on the event loop."""
        return len(self._text) < SMALL

    def cost(self, kind: Cost) -> float:
        """Seconds that a selector takes, at most. O(tags), once for each kind."""
        if kind not in self._costs:
            root = self.root()
            self._costs[kind] = self._seconds(root, kind) if isinstance(root, etree._Element) else 0.0
        return self._costs[kind]

    def _seconds(self, root: etree._Element, kind: Cost) -> float:
        depth = next((depth for depth, is_deeper in _deeper if not is_deeper(root)), None)
        if depth is None:
            return inf
        elements = float(_elements(root))
        widths = [len(element) for element in _wide(root)] if kind.looks_around or kind.counts else []
        seconds: float = _PER_LEVEL * kind.levels * depth * elements**2
        if kind.looks_around:
            seconds += _PER_CHILDREN * sum(width**3 for width in widths) + _PER_TAGS * self._text.count("<") ** 2
        if kind.counts:
            seconds += _PER_COUNT * sum(width**2 for width in widths)
        if kind.crosses:
            seconds += _PER_CHILDREN * elements**3
        return seconds

    @property
    def text(self) -> str:
        """The page as text, for regular expressions."""
        return self._text[:MAX_SOURCE]

    def root(self) -> Any:
        """The tree, or a JSON value; None for an empty page, or one that cannot be parsed."""
        if self._root is None:
            self._root = json_value(self._text) if self._kind == "json" else _tree(self._text, self._kind)
        return self._root

    def base(self) -> str:
        """The URL that references are relative to."""
        if self._base is None:
            root, href = self.root(), None
            if isinstance(root, etree._Element) and self._kind == "html":
                element = root.find(".//base[@href]")
                href = None if element is None else element.get("href")
            self._base = (href and resolve(href, self.url)) or self.url
        return self._base


_wide = etree.XPath(f"//*[{_WIDE + 1}]/..")  # a fifth of the time of counting children
_elements = etree.XPath("count(//*)")
_deeper = [(depth, etree.XPath(f"boolean({'/*' * (depth + 1)})")) for depth in _DEPTHS]


def _tree(text: str, kind: str) -> Any:
    if kind == "html" and (not _LIMITS_DEPTH or _has_long_stretch(text)):
        text = text[: affordable_length(text)]
    if text.count("<") >= MAX_TAGS:
        text = "<".join(text.split("<", MAX_TAGS)[:-1])
    if not text.strip():
        return None
    parser: Any = (
        etree.HTMLParser(encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True)
        if kind == "html"
        else etree.XMLParser(
            encoding="utf-8", recover=True, resolve_entities=False, no_network=True, huge_tree=False, remove_pis=True
        )
    )
    try:
        return etree.fromstring(text.replace("\0", "").encode("utf-8", "replace"), parser)
    except etree.LxmlError:
        return None


def _has_long_stretch(text: str) -> bool:
    """Whether there are more than ``_LONG_TAG`` characters without a tag. O(length), usually a few characters."""
    place = -1
    while place + _LONG_TAG + 1 < len(text):
        last = text.rfind("<", place + 1, place + _LONG_TAG + 2)
        if last < 0:
            return True
        place = last
    return False


def read_page(source: Source, rules: list[RecordRule], seconds: float = OFF_LOOP) -> list[Reading]:
    """Apply each of ``rules`` to a page. Raises OutOfTimeError only with ``seconds=ON_LOOP``."""
    readings = []
    clock = _Clock(seconds)
    for rule in rules:
        reading = Reading(rule)
        try:
            _Reader(source, reading, clock, seconds).read()
        except OutOfTimeError:
            if seconds == ON_LOOP:
                raise
            reading.is_cut = True
        readings.append(reading)
    return readings


class _Clock:
    """Limits CPU time and the size of all values.

    Asks for CPU time only when the wall clock allows more, as that needs no system call. 0.1 us.
    """

    def __init__(self, seconds: float) -> None:
        self._end = time.thread_time() + seconds
        self._wall_end = time.perf_counter() + seconds
        self._left = MAX_VALUES

    def count(self, value: Any) -> None:
        """Raise OutOfTimeError if all texts together are too long."""
        if isinstance(value, str):
            self._left -= len(value)
            if self._left < 0:
                raise OutOfTimeError

    def check(self) -> None:
        """Raise OutOfTimeError after the limit."""
        if time.perf_counter() > self._wall_end and time.thread_time() > self._end:
            raise OutOfTimeError


class _Reader:
    def __init__(self, source: Source, reading: Reading, clock: _Clock, seconds: float) -> None:
        self._source = source
        self._reading = reading
        self._clock = clock
        self._seconds = seconds
        self._root = source.root()

    def read(self) -> None:
        """Fill the reading. Raises OutOfTimeError; what was read until then is kept."""
        rule, root = self._reading.rule, self._root
        if root is None:
            return
        rows = [root]
        if rule.rows is not None:
            rows = self._select(rule.rows, root, rule.name)
        for row in rows:
            record: dict[str, Any] = {}
            is_complete = self._fields(rule.fields, row, record, rule.name)
            found = [name for name, value in record.items() if value not in (None, [])]
            if not found:
                continue
            self._reading.found.update(found)
            if not is_complete:
                self._reading.incomplete += 1
                continue
            self._reading.rows.append(_with_defaults(record, rule.fields))

    def _fields(self, fields: tuple[FieldRule, ...], node: Any, record: dict[str, Any], name: str) -> bool:
        is_complete = True
        for field in fields:
            self._clock.check()
            full_name = f"{name}.{field.name}"
            values = self._values(field, node, full_name)
            record[field.name] = values if field.is_list else next(iter(values), None)
            if field.is_required and not values and field.default is None:
                is_complete = False
                self._note(full_name, "required", "missing")
        return is_complete

    def _values(self, field: FieldRule, node: Any, name: str) -> list[Any]:
        found = [node] if field.selector is None else self._select(field.selector, node, name)
        values: list[Any] = []
        for one in found:
            self._clock.check()
            value = self._nested(field, one, name) if field.fields else self._value(field, one, name)
            if value is not None:
                self._clock.count(value)
                values.append(value)
                if not field.is_list:
                    break
        return values

    def _nested(self, field: FieldRule, node: Any, name: str) -> dict[str, Any] | None:
        record: dict[str, Any] = {}
        is_complete = self._fields(field.fields, node, record, name)
        has_values = any(value not in (None, []) for value in record.values())
        return _with_defaults(record, field.fields) if is_complete and has_values else None

    def _value(self, field: FieldRule, found: Any, name: str) -> Any:
        assert field.convert is not None
        try:
            return field.convert(found, self._source.base())
        except (ValueError, OverflowError, TypeError) as error:
            self._note(name, "value", str(error))
            return None

    def _select(self, selector: Selector, node: Any, name: str) -> list[Any]:
        if selector.markup is None and selector.path is None and node is self._root:
            node = self._source.text  # a regular expression alone reads the page as it was sent
        if self._source.cost(selector.cost) > self._seconds:
            if self._seconds == ON_LOOP:
                raise OutOfTimeError
            self._note(name, "selector", f"{selector.text}: too slow for a page of this shape, not used")
            return []
        try:
            return selector.select(node)
        except Exception as error:  # noqa: BLE001 - lxml, jmespath and re2 raise of their own
            self._note(name, "selector", f"{selector.text}: {type(error).__name__}: {error}")
            return []

    def _note(self, name: str, kind: str, reason: str) -> None:
        """The same problem counts once for a page."""
        problem = Problem(name, kind, " ".join(reason.split())[:300])
        problems = self._reading.problems
        if len(problems) < MAX_PROBLEMS and problem not in problems:
            problems.append(problem)


def _with_defaults(record: dict[str, Any], fields: tuple[FieldRule, ...]) -> dict[str, Any]:
    for field in fields:
        if record[field.name] in (None, []) and field.default is not None:
            record[field.name] = field.default
    return record
