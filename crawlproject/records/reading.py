"""Applies rules to a page.

A hostile page can make any selector slow (``p ~ p`` is quadratic), so reading has a limit of CPU time, which is checked
between selectors, and a limit of tags, so that no single selector takes long.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from lxml import etree

from crawlproject.records.rules import FieldRule, Problem, Reading
from crawlproject.records.selectors import MAX_SOURCE, JsonText
from crawlproject.urls.parse_budget import affordable_parts

if TYPE_CHECKING:
    from collections.abc import Callable

    from crawlproject.records.rules import RecordRule

#: Tags up to which a page is read on the event loop, and at most: a quadratic selector takes 0.03 s, and 8 s.
FEW_TAGS, MAX_TAGS = 3_000, 100_000

#: Characters up to which a page is read on the event loop.
SMALL = 65_536

#: CPU seconds for a page: on the event loop, and off it.
ON_LOOP, OFF_LOOP = 0.1, 2.0

#: Problems kept of a page and a kind of record.
MAX_PROBLEMS = 100


class OutOfTimeError(Exception):
    """Reading a page took more CPU time than allowed."""


class Source:
    """A page to read: its text, parsed at the first use. One of them per page."""

    def __init__(self, text: str, url: str, *, kind: str = "html", base: str | None = None) -> None:
        self.url = url
        self._text = text
        #: html, xml or json.
        self._kind = kind
        self._base = base
        self._root: Any = None

    @property
    def is_small(self) -> bool:
        """Whether it may be read on the event loop."""
        return len(self._text) < SMALL and self._text.count("<") <= FEW_TAGS

    @property
    def text(self) -> str:
        """The page as text, for regular expressions."""
        return self._text[:MAX_SOURCE]

    def root(self) -> Any:
        """The tree, or a ``JsonText``; None for an empty page, or one that cannot be parsed."""
        if self._root is None:
            self._root = JsonText(self._text) if self._kind == "json" else _tree(self._text, self._kind)
        return self._root

    def base(self) -> str:
        """The URL that references are relative to."""
        if self._base is None:
            root, href = self.root(), None
            if isinstance(root, etree._Element) and self._kind == "html":
                element = root.find(".//base[@href]")
                href = None if element is None else element.get("href")
            from crawlproject.urls import resolve

            self._base = (href and resolve(href, self.url)) or self.url
        return self._base


def _tree(text: str, kind: str) -> Any:
    if kind == "html":
        parts = affordable_parts(text)
        text = text[parts[0].start : parts[0].end] if parts else ""
    text = _first_tags(text)
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


def _first_tags(text: str) -> str:
    """The text up to ``MAX_TAGS`` tags."""
    if text.count("<") <= MAX_TAGS:
        return text
    return "<".join(text.split("<", MAX_TAGS)[:-1])


def read_page(source: Source, rules: list[RecordRule], seconds: float = OFF_LOOP) -> list[Reading]:
    """What a page gives by each of ``rules``. Raises OutOfTimeError only with ``seconds=ON_LOOP``."""
    clock = time.thread_time
    readings = []
    end = clock() + seconds
    for rule in rules:
        reading = Reading(rule)
        try:
            _Reader(source, reading, end, clock).read()
        except OutOfTimeError:
            if seconds == ON_LOOP:
                raise
            reading.is_cut = True
        readings.append(reading)
    return readings


class _Reader:
    """Reads the records of one kind from a page."""

    def __init__(self, source: Source, reading: Reading, end: float, clock: Callable[[], float]) -> None:
        self._source = source
        self._reading = reading
        self._end = end
        self._clock = clock

    def read(self) -> None:
        """Fill the reading. Raises OutOfTimeError; what was read until then is kept."""
        rule, root = self._reading.rule, self._source.root()
        if root is None:
            return
        rows = [root]
        if rule.rows is not None:
            rows = self._select(rule.rows, root, rule.name)
        for row in rows:
            record: dict[str, Any] = {}
            is_complete = self._fields(rule.fields, row, record, rule.name)
            if not any(value not in (None, []) for value in record.values()):
                continue
            self._reading.found.update(name for name, value in record.items() if value is not None and value != [])
            if not is_complete:
                self._reading.incomplete += 1
                continue
            for field in rule.fields:
                if record[field.name] in (None, []) and field.default is not None:
                    record[field.name] = field.default
            self._reading.rows.append(record)

    def _fields(self, fields: tuple[FieldRule, ...], node: Any, record: dict[str, Any], name: str) -> bool:
        """Read ``fields`` into ``record``; whether all that are required are there."""
        is_complete = True
        for field in fields:
            if self._clock() > self._end:
                raise OutOfTimeError
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
            value = self._nested(field, one, name) if field.fields else self._value(field, one, name)
            if value is not None:
                values.append(value)
                if not field.is_list:
                    break
        return values

    def _nested(self, field: FieldRule, node: Any, name: str) -> dict[str, Any] | None:
        record: dict[str, Any] = {}
        is_complete = self._fields(field.fields, node, record, name)
        has_values = any(value is not None and value != [] for value in record.values())
        for inner in field.fields:
            if record[inner.name] in (None, []) and inner.default is not None:
                record[inner.name] = inner.default
        return record if is_complete and has_values else None

    def _value(self, field: FieldRule, found: Any, name: str) -> Any:
        assert field.convert is not None
        try:
            return field.convert(found, self._source.base())
        except (ValueError, OverflowError, TypeError) as error:
            self._note(name, "value", str(error))
            return None

    def _select(self, selector: Any, node: Any, name: str) -> list[Any]:
        if selector.markup is None and selector.path is None and node is self._source.root():
            node = self._source.text  # a regular expression alone reads the page as it was sent
        try:
            found: list[Any] = selector.select(node)
        except Exception as error:  # noqa: BLE001 - lxml, jmespath and re2 raise of their own
            self._note(name, "selector", f"{selector.text}: {type(error).__name__}: {error}")
            return []
        return found

    def _note(self, name: str, kind: str, reason: str) -> None:
        if len(self._reading.problems) < MAX_PROBLEMS:
            self._reading.problems.append(Problem(name, kind, " ".join(reason.split())[:300]))
