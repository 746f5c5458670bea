"""How much of a document an HTML5 tree builder gets through in bounded time.

The HTML standard has two quadratic corners: most tags walk the stack of open elements, and every attribute is compared
to those its tag already has.  100,000 nested ``<div>`` (500 kB) kept the parser busy for 38 s, one tag with 100,000
attributes for 54 s.  Browsers flatten such trees; here the document is cut where its cost leaves the budget.  This is
meant for garbage as it occurs (broken templates, text with a stray "<"), not for an ingenious enemy.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from math import isqrt

MAX_STEPS = 150_000_000  # walked stack entries: 1.1 s at 7.5 ns; an index of real documentation needs 60 million
MAX_ATTRIBUTES = 1_000  # of one tag: 5 ms
_FEW_TAGS = isqrt(2 * MAX_STEPS)  # were they all nested, they would still be in the budget
_SHORT_TAG = 4 * MAX_ATTRIBUTES  # characters: "a b c" needs 2 an attribute, but distinct names need more

# Elements that do not pile up on the stack
_WITHOUT_CONTENT = ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr")
_CLOSED_BY_THE_NEXT = ("a", "button", "form", "h1", "h2", "h3", "h4", "h5", "h6", "nobr", "option", "p")
_CLOSED_IN_LISTS = ("dd", "dt", "li", "tbody", "td", "tfoot", "th", "thead", "tr")
_NEVER_NESTED = frozenset((*_WITHOUT_CONTENT, *_CLOSED_BY_THE_NEXT, *_CLOSED_IN_LISTS, "html", "head", "body"))
_tags = re.compile(
    r"<!--.*?(?:-->|\Z)|<(?P<raw>script|style|textarea|title)\b.*?(?:</(?P=raw)|\Z)"
    r"|<(?P<close>/?)(?P<name>[a-z][^\s/<>]*)(?P<rest>[^<>]*)",
    re.IGNORECASE | re.DOTALL,
).finditer
_long_tags = re.compile(rf"<[A-Za-z][^>]{{{_SHORT_TAG},}}").finditer
_attributes = re.compile(r"[^\s/>=]+(?:\s*+=\s*+(?:\"[^\"]*\"?|'[^']*'?|[^\s>]*))?").finditer


def affordable_length(text: str) -> int:
    """How many characters of *text* to parse: nearly always all of them.

    O(length): 8 us for a page of 19 kB, 8 ms for one with more than 10,000 tags.
    """
    length = len(text) if text.count("<") <= _FEW_TAGS else _length_by_depth(text)
    return _length_by_attributes(text, length) if _has_long_tag(text, length) else length


def _has_long_tag(text: str, end: int) -> bool:
    """Whether somewhere _SHORT_TAG characters follow each other without a ">".  Seldom looks at every one."""
    position = 0
    while position + _SHORT_TAG <= end:
        last = text.rfind(">", position, position + _SHORT_TAG)
        if last < 0:
            return True
        position = last + 1
    return False


def _length_by_attributes(text: str, end: int) -> int:
    """Where the first tag with more than MAX_ATTRIBUTES starts, not counting what only looks like one in a script."""
    suspects = [tag.start() for tag in _long_tags(text, 0, end) if _has_many_attributes(text, tag.start(), tag.end())]
    if not suspects:
        return end
    real = {tag.start() for tag in _tags(text, 0, end) if tag["name"]}
    return min(real.intersection(suspects), default=end)


def _has_many_attributes(text: str, start: int, end: int) -> bool:
    return next(islice(_attributes(text, start + 1, end), MAX_ATTRIBUTES + 1, None), None) is not None


def _length_by_depth(text: str) -> int:
    """Where the sum over all tags of the number of elements open there reaches MAX_STEPS.

    An estimate from above: where an end tag closes several elements, the others are still counted as open.
    """
    opened: Counter[str] = Counter()
    depth = steps = 0
    in_foreign_content = False
    for tag in _tags(text):
        steps += depth
        if steps > MAX_STEPS:
            return tag.start()
        name = (tag["name"] or "").lower()
        if not name or name in _NEVER_NESTED:
            continue
        if name in ("svg", "math"):
            in_foreign_content = not tag["close"]
        if tag["close"]:
            if opened[name]:
                opened[name] -= 1
                depth -= 1
        elif not (in_foreign_content and tag["rest"].endswith("/")):
            opened[name] += 1
            depth += 1
    return len(text)
