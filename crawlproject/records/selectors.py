"""Selectors of fields: CSS, XPath, JSON path and regular expression, compiled once, applied to a page or a part of it.

Regular expressions are RE2's, so linear in the text; XPath has no functions with regular expressions (EXSLT's use
Python's ``re``, which takes exponential time for some).
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

import jmespath
from cssselect import SelectorError
from jmespath.exceptions import JMESPathError
from lxml import etree
from parsel.csstranslator import HTMLTranslator

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Matches of one selector that are used.
MAX_MATCHES = 10_000

#: Characters of a text that are used.
MAX_TEXT = 100_000

#: Characters of a text that is read as JSON, or by a regular expression.
MAX_SOURCE = 5_000_000

#: Axes and functions that look at other elements than those below.
_looks_around = re.compile(
    r"following|preceding|ancestor|parent::|\.\.|\||\b(?:last|position|count|sum|id|key|current)\s*\("
).search
#: The text of an element as a condition: elements within each other repeat it.
_reads_text = re.compile(
    r"\b(?:normalize-space|string|string-length|contains|starts-with)\s{0,9}\(\s{0,9}\.?\s{0,9}[,)]|\[\s{0,9}\.\s{0,9}!?="
).search
_descends = re.compile(r"//|descendant").findall
#: Siblings that are only counted, as for ``:nth-child``.
_without_counts = re.compile(r"\bcount\(\s{0,9}(?:preceding|following)-sibling::[\w*-]{1,99}\s{0,9}\)").subn
#: All elements after or before another one, not only the first of them.
_crosses = re.compile(r"\b(?:following|preceding)\s{0,9}::(?!\s{0,9}[\w*-]{1,99}\[1\])").search

_string = etree.XPath("string()", smart_strings=False)
_translator = HTMLTranslator()

_decoder = json.JSONDecoder(strict=False)
#: What scripts write before a value: ``window.__STATE__ =``, ``var data =``.
_assigns = re.compile(r"""\s*(?:(?:var|let|const)\s+)?[\w$][\w$.\[\]'"]{0,199}\s*=\s*(?=[{\[])""").match
#: How scripts hide their text from parsers of XML, and from browsers of old: ``//<![CDATA[``, ``/*<![CDATA[*/``.
_hides = re.compile(r"\s*(?:(?:/\*|//)\s*)?(?:<!\[CDATA\[|<!--)\s*(?:\*/\s*)?").match


def _parsed(text: str) -> Any:
    """The value of a JSON text, as pages have it: with line breaks within strings, a semicolon at the end; or marked as
    CDATA or assigned to a variable by a script, of which the rest is ignored. Raises ValueError, RecursionError."""
    hidden = _hides(text)
    start = hidden.end() if hidden else 0
    assigned = _assigns(text, start)
    if hidden or assigned:
        return _decoder.raw_decode(text, assigned.end() if assigned else start)[0]
    return _decoder.decode(text.rstrip("; \t\r\n"))


def json_value(text: str) -> Any:
    """The value of a text that contains JSON; None if it does not, or is too long. O(length)."""
    try:
        return _parsed(text) if len(text) <= MAX_SOURCE else None
    except (ValueError, RecursionError):
        return None


class Cost(NamedTuple):
    """Why an XPath may take more than linear time."""

    #: Descendants of descendants, ...: the number of steps.
    levels: int
    #: Siblings are counted.
    counts: bool
    #: It looks at siblings, ancestors, positions or texts.
    looks_around: bool
    #: It looks at all elements after or before another one.
    crosses: bool


LINEAR = Cost(0, counts=False, looks_around=False, crosses=False)


@dataclass(frozen=True, slots=True)
class Selector:
    """One step or several: CSS or XPath, then a JSON path, then a regular expression. Each is optional, but there is at
    least one."""

    #: As written, for messages.
    text: str
    markup: etree.XPath | None = None
    attribute: str | None = None
    path: Any = None
    regex: Any = None
    #: If its time may grow faster than the page, only pages whose shape allows it are read.
    cost: Cost = LINEAR

    def select(self, node: Any) -> list[Any]:
        """The matches in ``node``: an element, a JSON value, or a text.

        They are elements, texts or JSON values, at most ``MAX_MATCHES``.  Raises what its library raises.
        """
        found = self._elements(node)
        if self.path is not None:
            found = [value for one in found for value in _listed(self.path.search(_json(one)))]
        if self.regex is not None:
            found = [match for one in found for match in _matches(self.regex, text_of(one))]
        return found[:MAX_MATCHES]

    def _elements(self, node: Any) -> list[Any]:
        """The matches of CSS or XPath; without them ``node``."""
        if self.markup is None:
            return [node]
        if not isinstance(node, etree._Element):
            return []
        found = self.markup(node)
        if not isinstance(found, list):  # a number, a text or a truth value
            return [] if found is None or found == "" else [found]
        found = found[:MAX_MATCHES]
        if self.attribute is None:
            return found
        values = (one.get(self.attribute) for one in found if isinstance(one, etree._Element))
        return [value for value in values if value is not None]


def text_of(value: Any) -> str:
    """The text of a match, at most ``MAX_SOURCE`` characters."""
    if isinstance(value, str):
        return value[:MAX_SOURCE]
    if isinstance(value, etree._Element):
        return str(_string(value))[:MAX_SOURCE]
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:  # XPath has no whole numbers
        return str(int(value))
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False)[:MAX_SOURCE]
    return "" if value is None else str(value)


def _json(value: Any) -> Any:
    return json_value(text_of(value)) if isinstance(value, (str, etree._Element)) else value


def _listed(value: Any) -> list[Any]:
    if value is None:
        return []
    return [one for one in islice(value, MAX_MATCHES) if one is not None] if isinstance(value, list) else [value]


def _matches(regex: Any, text: str) -> Iterator[str]:
    """The first group of each match, or all of it if there is no group."""
    group = 1 if regex.groups else 0
    for match in islice(regex.finditer(text), MAX_MATCHES):
        if match[group] is not None:
            yield match[group]


def css(expression: str) -> etree.XPath:
    """CSS with ``::text`` and ``::attr(NAME)``. Raises ValueError."""
    try:
        return xpath(_translator.css_to_xpath(expression))
    except SelectorError as error:
        raise ValueError(str(error)) from error


def xpath(expression: str) -> etree.XPath:
    """XPath 1.0. Raises ValueError."""
    try:
        return etree.XPath(expression, smart_strings=False, regexp=False)
    except etree.XPathError as error:
        raise ValueError(str(error)) from error


def cost_of(expression: str) -> Cost:
    """Why an XPath may take more than linear time. Literals count as well: a false alarm costs little."""
    rest, counts = _without_counts("", expression)
    return Cost(
        levels=max(0, len(_descends(rest)) - 1),
        counts=counts > 0,
        looks_around=bool(_looks_around(rest) or _reads_text(rest)),
        crosses=bool(_crosses(rest)),
    )


def json_path(expression: str) -> Any:
    """JMESPath. Raises ValueError."""
    try:
        return jmespath.compile(expression)
    except (JMESPathError, RecursionError) as error:
        raise ValueError(str(error).splitlines()[0].removesuffix(", for expression:")) from error
