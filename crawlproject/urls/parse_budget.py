"""Limits the part of a document that is parsed, to bound the time and memory of the HTML5 tree builder.

The HTML standard has quadratic corner cases: most tags walk the stack of open elements, every attribute is compared
with those that its tag already has, and formatting elements left open are reopened inside each following block.
100,000 nested ``<div>`` (500 kB) kept the parser busy for 38 s, one tag with 100,000 attributes for 54 s, and 5,000
times ``<i id=N><p>`` (75 kB) took 4.5 GB.  Browsers flatten such trees; here the document is cut where its cost exceeds
the budget.
"""

from __future__ import annotations

import re
from collections import Counter
from itertools import islice
from math import isqrt
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_STEPS = 150_000_000  # walked stack entries: 0.8-1.1 s; an index of real documentation needs 60 million
MAX_NODES = 800_000  # elements, texts, attributes: 80 to 230 bytes each; a manual in one page of 8 MB has 760,000
MAX_NODES_PER_CHARACTER = 3  # above the first MAX_NODES / 10: only reopened elements produce more
MAX_BYTES = 9_000_000  # of UTF-8: a manual in one page has 8.4 million; parsing takes up to 9 bytes for each
NUL_BYTES = 9  # bytes that a NUL counts as: the parser replaces it by three, and takes 36 meanwhile
MAX_NAMES = 40_000  # distinct names of elements and attributes: 0.3 s, quadratic; 333,000 took 71 s
MAX_ATTRIBUTES = 1_000  # of one tag: 2 ms
_FEW_TAGS = isqrt(2 * MAX_STEPS)  # within the budget even if all are nested
_FEW_NODES = isqrt(MAX_NODES // 4)  # tags: few nodes even if each is reopened at each
_SHORT_TAG = 4 * MAX_ATTRIBUTES  # characters: "a b c" needs 2 per attribute, but distinct names need more
_NO_MORE_NAMES = 5 * MAX_NAMES  # characters: too few for so many names
_PIECE = 1 << 16  # characters processed at a time
_MAX_KNOWN, _KNOWN_LENGTH = 10_000, 200  # tags read once for all their occurrences, and their characters

# Elements that do not accumulate on the stack
_WITHOUT_CONTENT = ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr")
_CLOSED_BY_THE_NEXT = ("a", "button", "form", "h1", "h2", "h3", "h4", "h5", "h6", "nobr", "option", "p")
_CLOSED_IN_LISTS = ("dd", "dt", "li", "tbody", "td", "tfoot", "th", "thead", "tr")
_NEVER_NESTED = frozenset((*_WITHOUT_CONTENT, *_CLOSED_BY_THE_NEXT, *_CLOSED_IN_LISTS, "html", "head", "body"))
#: Stack entries of an element and of the elements of _CLOSED_IN_LISTS that it may keep open.
_LEVELS = {"dl": 2, "ul": 2, "ol": 2, "menu": 2, "dir": 2, "table": 4}

#: Reopened after a block closed them ("a" and "nobr", too, but only one of each).
_FORMATTING = frozenset(("b", "big", "code", "em", "font", "i", "s", "small", "strike", "strong", "tt", "u"))
_MADE_BY_END = frozenset(("br", "p"))  # elements that an end tag without a start tag creates
_USUAL_FORMATTING = 3  # formatting elements open at once
_SAME_FORMATTING = 3  # maximum equal elements that are reopened ("Noah's Ark clause")

# An attribute by the HTML standard: "=" may be a name's first character, quotes count only after "=".
_VALUE = r"\"[^\"]*+\"?+|'[^']*+'?+|[^\s>\"'][^\s>]*+"
_ATTRIBUTE = rf"[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:{_VALUE})?+|(?!))?+"
_tags = re.compile(
    r"<!--.*?(?:-->|\Z)|<(?P<raw>script|style|textarea|title)\b.*?(?:</(?P=raw)|\Z)"
    rf"|<(?P<close>/?)(?P<name>[a-z][^\s/>]*)(?P<rest>(?:[\s/]++|{_ATTRIBUTE})*+)|<",
    re.IGNORECASE | re.DOTALL | re.ASCII,
).finditer
_attribute = re.compile(_ATTRIBUTE, re.ASCII)
_BETWEEN_NAMES = bytes.maketrans(b"/>=\"'<", b"      ")
_tag_start = re.compile(r"<[A-Za-z]").search
_formatting = re.compile(
    rf"<(/?)(?:{'|'.join(sorted(_FORMATTING, key=len, reverse=True))})(?=[\s/>])", re.IGNORECASE | re.ASCII
).finditer


def affordable_length(text: str) -> int:
    """The number of characters of *text* to parse: nearly always all.  No tag, comment or script is split.

    O(length): 10 us for a page of 19 kB, 5 ms for one of 400 kB, 22 us per kB above 1 MB, at most some 0.7 s.
    """
    text = text[: _length_by_bytes(text)]
    return _walk(text) if _may_be_costly(text) or _may_have_many_names(text) or _has_full_tag(text) else len(text)


def _length_by_bytes(text: str) -> int:
    """Number of characters within MAX_BYTES of UTF-8, counting a NUL as NUL_BYTES."""
    if NUL_BYTES * len(text) <= MAX_BYTES:
        return len(text)
    size = 0
    for start in range(0, len(text), _PIECE):
        piece = text[start : start + _PIECE]
        size += len(piece.encode("utf-8", "surrogatepass")) + (NUL_BYTES - 1) * piece.count("\0")
        if size > MAX_BYTES:
            return start
    return len(text)


def _max_nodes(text: str) -> int:
    """Maximum nodes of *text*; documents parsed on the event loop make fewer."""
    return min(MAX_NODES, MAX_NODES // 10 + MAX_NODES_PER_CHARACTER * len(text))


def _may_be_costly(text: str) -> bool:
    tags, attributes = text.count("<"), len(text) // 2  # at most: one takes two characters
    if tags > _FEW_TAGS or tags <= _FEW_NODES:
        return tags > _FEW_TAGS or attributes > MAX_NODES
    return 2 * tags * (1 + _most_open(text)) + attributes > _max_nodes(text)


def _most_open(text: str) -> int:
    """The most formatting elements that are open at once. O(length)."""
    most = opened = 0
    for tag in _formatting(text):
        opened = max(0, opened + (-1 if tag[1] else 1))
        most = max(most, opened)
    return most


def _may_have_many_names(text: str) -> bool:
    """Whether *text* has more than MAX_NAMES distinct words. 8 ms per megabyte."""
    words: set[bytes] = set()
    for start in range(0, len(text) if len(text) > _NO_MORE_NAMES else 0, _PIECE):
        piece = text[start : start + _PIECE].encode("utf-8", "surrogatepass")
        words.update(piece.translate(_BETWEEN_NAMES).split())
        if len(words) > MAX_NAMES:
            return True
    return False


def _has_full_tag(text: str) -> bool:
    """Whether a tag, or a script that looks like one, has more than MAX_ATTRIBUTES.  Rarely reads every character."""
    position = 0
    while position + _SHORT_TAG <= len(text):
        last = text.rfind(">", position, position + _SHORT_TAG)
        if last >= 0:
            position = last + 1
            continue
        close = text.find(">", position + _SHORT_TAG)
        close = len(text) if close < 0 else close
        tag = _tag_start(text, position, close)
        if tag is not None and _count_attributes(text, tag.start() + 1, close) > MAX_ATTRIBUTES:
            return True
        position = close + 1
    return False


def _count_attributes(text: str, start: int, end: int) -> int:
    """Number of attributes from *start* to *end* (a tag's name counts, too), at most MAX_ATTRIBUTES + 1."""
    return sum(1 for _ in islice(_attribute.finditer(text, start, end), MAX_ATTRIBUTES + 1))


def _walk(text: str) -> int:
    """The start of the first tag at which steps, nodes, names or attributes exceed their maximum.

    Overestimates: if an end tag closes several elements, the others still count as open, and formatting elements left
    open count as reopened at each tag.
    """
    opened: Counter[str] = Counter()
    formatting: dict[str, list[str]] = {}
    depth = steps = nodes = reopened = 0
    max_nodes = _max_nodes(text)
    foreign = ""  # the open svg or math element
    names: set[str] = set()
    for found, tag in _read_tags(text, names):
        steps += depth + tag.attributes * tag.attributes // 4
        nodes += tag.nodes + (2 * reopened if reopened > tag.tolerated else 0)
        if steps > MAX_STEPS or nodes > max_nodes or tag.attributes > MAX_ATTRIBUTES or len(names) > MAX_NAMES:
            return found.start()
        name, is_end = tag.name, tag.is_end
        if name in _FORMATTING:
            reopened += _change(formatting.setdefault(name, []), found["rest"], is_end=is_end)
        if not name or name in _NEVER_NESTED:
            continue
        if name in ("svg", "math"):
            foreign = "" if is_end else name
        if is_end:
            if opened[name]:
                opened[name] -= 1
                depth -= _LEVELS.get(name, 1)
        elif not (foreign and found["rest"].endswith("/")):
            opened[name] += 1
            depth += _LEVELS.get(name, 1)
    return len(text)


class _Tag(NamedTuple):
    """What a tag, or a comment or script, costs by itself: most tags of a page occur many times."""

    attributes: int
    nodes: int  # maximum nodes of it and of the text after it
    tolerated: int  # reopened elements that add no nodes; each further one brings its attributes and a text
    name: str  # in lower case; "" for others than tags
    is_end: bool


def _read_tags(text: str, names: set[str]) -> Iterator[tuple[re.Match[str], _Tag]]:
    """Each tag of *text*; the names of elements and attributes are added to *names*."""
    known: dict[str, _Tag] = {}
    for found in _tags(text):
        written = found[0]
        tag = known.get(written)
        if tag is None:
            tag = _read_tag(found)
            if tag.name:
                names.add(tag.name)
                attributes = _attribute.finditer(text, *found.span("rest"))
                names.update(item[0].partition("=")[0].lower() for item in islice(attributes, MAX_ATTRIBUTES))
            if len(written) <= _KNOWN_LENGTH and len(known) < _MAX_KNOWN:
                known[written] = tag
        yield found, tag


def _read_tag(found: re.Match[str]) -> _Tag:
    name, is_end = (found["name"] or "").lower(), found["close"] == "/"
    if is_end:
        return _Tag(0, 2 if name in _MADE_BY_END else 1, _USUAL_FORMATTING, name, is_end)
    start, end = found.span("rest")
    attributes = _count_attributes(found.string, start, end) if end > start + 1 else 0
    return _Tag(attributes, 2 + attributes, MAX_NODES if name in _FORMATTING else 0, name, is_end)


def _change(opened: list[str], attributes: str, *, is_end: bool) -> int:
    """Open or close a formatting element; returns the change in the number of reopened elements."""
    if is_end:
        return -1 if opened and opened.pop() is not None else 0
    if opened[-_SAME_FORMATTING:].count(attributes) >= _SAME_FORMATTING:
        return 0
    opened.append(attributes)
    return 1
