"""How much of a document an HTML5 tree builder gets through in bounded time and memory.

The HTML standard has quadratic corners: most tags walk the stack of open elements, every attribute is compared to those
its tag already has, and formatting elements left open are opened again inside each block that follows.  100,000 nested
``<div>`` (500 kB) kept the parser busy for 38 s, one tag with 100,000 attributes for 54 s, and 5,000 times
``<i id=N><p>`` (75 kB) took 4.5 GB.  Browsers flatten such trees; here the document is cut where its cost leaves the
budget.  A document of very many nodes is parsed in parts, so that only one of their trees takes memory at a time.
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
MAX_NODES = 1_000_000  # elements, texts and attributes; a manual in one page of 8 MB has 760,000
MAX_TREE = 200_000  # of them in one tree: 80 to 230 bytes each, attributes most
MAX_NODES_PER_CHARACTER = 3  # above the first MAX_NODES / 10: more are made by what is opened again and again
MAX_BYTES = 9_000_000  # of UTF-8: a manual in one page has 8.4 million; each takes up to 9 bytes on its way
NUL_BYTES = 9  # that a NUL counts for: the parser puts three in its place, and takes 36 on the way
MAX_NAMES = 40_000  # different ones of elements and attributes: 0.3 s, quadratic; 333,000 took 71 s
MAX_ATTRIBUTES = 1_000  # of one tag: 2 ms
_FEW_TAGS = isqrt(2 * MAX_STEPS)  # were they all nested, they would still be in the budget
_FEW_NODES = isqrt(MAX_TREE)  # tags: they make one tree, were each opened again at each
_SHORT_TAG = 4 * MAX_ATTRIBUTES  # characters: "a b c" needs 2 an attribute, but distinct names need more
_SHORT_TEXT = 2 * MAX_TREE  # characters: too few for so many attributes
_NO_MORE_NAMES = 5 * MAX_NAMES  # characters: too few for so many names
_PIECE = 1 << 16  # characters looked at in one go

# Elements that do not pile up on the stack
_WITHOUT_CONTENT = ("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr")
_CLOSED_BY_THE_NEXT = ("a", "button", "form", "h1", "h2", "h3", "h4", "h5", "h6", "nobr", "option", "p")
_CLOSED_IN_LISTS = ("dd", "dt", "li", "tbody", "td", "tfoot", "th", "thead", "tr")
_NEVER_NESTED = frozenset((*_WITHOUT_CONTENT, *_CLOSED_BY_THE_NEXT, *_CLOSED_IN_LISTS, "html", "head", "body"))
#: Stack entries of an element together with those of _CLOSED_IN_LISTS that it may hold open.
_LEVELS = {"dl": 2, "ul": 2, "ol": 2, "menu": 2, "dir": 2, "table": 4}

#: Opened again where a block closed them ("a" and "nobr" too, but only one of each).
_FORMATTING = frozenset(("b", "big", "code", "em", "font", "i", "s", "small", "strike", "strong", "tt", "u"))
_MADE_BY_END = frozenset(("br", "p"))  # elements that an end tag without a start makes
_USUAL_FORMATTING = 3  # that is open at once
_SAME_FORMATTING = 3  # equal ones that are opened again at most ("Noah's Ark clause")

# An attribute as the HTML standard reads it: "=" may be a name's first character, quotes count only behind "=".
_VALUE = r"\"[^\"]*+\"?+|'[^']*+'?+|[^\s>\"'][^\s>]*+"
_ATTRIBUTE = rf"[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:{_VALUE})?+)?+"
_tags = re.compile(
    r"<!--.*?(?:-->|\Z)|<(?P<raw>script|style|textarea|title)\b.*?(?:</(?P=raw)|\Z)"
    rf"|<(?P<close>/?)(?P<name>[a-z][^\s/>]*)(?P<rest>(?:[\s/]++|{_ATTRIBUTE})*+)|<",
    re.IGNORECASE | re.DOTALL | re.ASCII,
).finditer
_attribute = re.compile(_ATTRIBUTE, re.ASCII)
_words = re.compile(r"[^\s/>=\"'<]+", re.ASCII).findall
_tag_start = re.compile(r"<[A-Za-z]").search
_formatting = re.compile(
    rf"<(/?)(?:{'|'.join(sorted(_FORMATTING, key=len, reverse=True))})(?=[\s/>])", re.IGNORECASE | re.ASCII
).finditer


class Part(NamedTuple):
    """Characters of a document from ``start`` to ``end``, to be parsed by themselves behind the tags ``within``."""

    start: int
    end: int
    within: str = ""


def affordable_parts(text: str) -> list[Part]:
    """What of *text* to parse: nearly always all of it, in one part.

    No tag, comment or script is split; elements that were open before a part are not, but for a table or a drawing.
    O(length): 10 us for a page of 19 kB, 8 ms for one with more than 10,000 tags, at most some 0.7 s.
    """
    text = text[: _length_by_bytes(text)]
    parts = _parts_by_tree(text) if _may_be_costly(text) else [Part(0, len(text))]
    length = parts[-1].end
    if length > _NO_MORE_NAMES and _may_have_many_names(text):
        length = _length_by_names(text, length)
    length = _length_by_attributes(text, length)
    kept = [part for part in parts if part.start < length] or parts[:1]
    return [*kept[:-1], kept[-1]._replace(end=length)]


def _length_by_bytes(text: str) -> int:
    """How many characters have MAX_BYTES in UTF-8, a NUL counted as NUL_BYTES."""
    if NUL_BYTES * len(text) <= MAX_BYTES:
        return len(text)
    size = 0
    for start in range(0, len(text), _PIECE):
        piece = text[start : start + _PIECE]
        size += len(piece.encode("utf-8", "surrogatepass")) + (NUL_BYTES - 1) * piece.count("\0")
        if size > MAX_BYTES:
            return start
    return len(text)


def _may_have_many_names(text: str) -> bool:
    """Whether it has more than MAX_NAMES different words. 50 ms for a megabyte."""
    words: set[str] = set()
    for start in range(0, len(text), _PIECE):
        words.update(_words(text, start, start + _PIECE))
        if len(words) > MAX_NAMES:
            return True
    return False


def _length_by_names(text: str, end: int) -> int:
    """Where the tag begins that has more names than MAX_NAMES with those before it."""
    names: set[str] = set()
    for tag in _tags(text, 0, end):
        if tag["name"]:
            names.add(tag["name"].lower())
            names.update(item.partition("=")[0].lower() for item in _attribute.findall(text, *tag.span("rest")))
            if len(names) > MAX_NAMES:
                return tag.start()
    return end


def _may_be_costly(text: str) -> bool:
    """A quick test with false alarms."""
    tags = text.count("<")
    if tags <= _FEW_NODES:
        return len(text) > _SHORT_TEXT
    if tags > _FEW_TAGS or len(text) > _SHORT_TEXT:
        return True
    most = opened = 0
    for tag in _formatting(text):
        opened += -1 if tag[1] else 1
        opened = max(0, opened)
        most = max(most, opened)
    return 2 * tags * (1 + most) > min(MAX_TREE, _max_nodes(text))


def _max_nodes(text: str) -> int:
    """How large a tree it may make; what is parsed on the event loop makes a smaller one."""
    return min(MAX_NODES, MAX_NODES // 10 + MAX_NODES_PER_CHARACTER * len(text))


def _length_by_attributes(text: str, end: int) -> int:
    """Where the first tag with more than MAX_ATTRIBUTES starts, not counting what only looks like one in a script."""
    suspects = [start for start, close in _long_tags(text, end) if _count_attributes(text, start + 1, close) is None]
    if not suspects:
        return end
    real = {tag.start() for tag in _tags(text, 0, end) if tag["name"]}
    return min(real.intersection(suspects), default=end)


def _long_tags(text: str, end: int) -> Iterator[tuple[int, int]]:
    """Start and end of each tag that has no ">" in _SHORT_TAG characters.  Seldom looks at every character."""
    position = 0
    while position + _SHORT_TAG <= end:
        last = text.rfind(">", position, position + _SHORT_TAG)
        if last >= 0:
            position = last + 1
            continue
        close = text.find(">", position + _SHORT_TAG, end)
        close = end if close < 0 else close
        tag = _tag_start(text, position, close)
        if tag is not None:
            yield tag.start(), close
        position = close + 1


def _count_attributes(text: str, start: int, end: int) -> int | None:
    """How many attributes stand there (a tag's name counts as one); None: more than MAX_ATTRIBUTES."""
    if end - start <= _SHORT_TAG:
        count = len(_attribute.findall(text, start, end))
    else:
        count = sum(1 for _ in islice(_attribute.finditer(text, start, end), MAX_ATTRIBUTES + 1))
    return None if count > MAX_ATTRIBUTES else count


def _parts_by_tree(text: str) -> list[Part]:
    """What ends where walking the stack reaches MAX_STEPS, or the nodes MAX_NODES; each part makes MAX_TREE of them.

    An estimate from above: where an end tag closes several elements, the others are still counted as open, and
    formatting elements left open as opened again at each tag.
    """
    opened: Counter[str] = Counter()
    formatting: dict[str, list[str]] = {}
    depth = steps = nodes = reopened = 0
    max_nodes, max_part = _max_nodes(text), MAX_TREE
    parts = [Part(0, len(text))]
    foreign = ""  # the drawing or formula that it is in
    for tag in _tags(text):
        name = (tag["name"] or "").lower()
        is_end = tag["close"] == "/"
        start, end = tag.span("rest")
        attributes = 0 if is_end or end <= start + 1 else _count_attributes(text, start, end)
        attributes = MAX_ATTRIBUTES if attributes is None else attributes
        steps += depth + attributes * attributes // 4
        added = _nodes(name, reopened, is_end=is_end) + attributes
        nodes += added
        if steps > MAX_STEPS or nodes > max_nodes:
            return _ended(parts, tag.start())
        if nodes > max_part:
            max_part = nodes - added + MAX_TREE
            within = ("<table><td>" if opened["table"] else "") + (f"<{foreign}>" if foreign else "")
            parts = [*_ended(parts, tag.start()), Part(tag.start(), len(text), within)]
        if name in _FORMATTING:
            reopened += _change(formatting.setdefault(name, []), tag["rest"], is_end=is_end)
        if not name or name in _NEVER_NESTED:
            continue
        if name in ("svg", "math"):
            foreign = "" if is_end else name
        if is_end:
            if opened[name]:
                opened[name] -= 1
                depth -= _LEVELS.get(name, 1)
        elif not (foreign and tag["rest"].endswith("/")):
            opened[name] += 1
            depth += _LEVELS.get(name, 1)
    return parts


def _ended(parts: list[Part], end: int) -> list[Part]:
    """``parts``, of which the last one ends at ``end``."""
    return [*parts[:-1], parts[-1]._replace(end=end)]


def _nodes(name: str, reopened: int, *, is_end: bool) -> int:
    """How many nodes a tag and the text behind it may make, its own attributes left out.

    An element that is opened again brings its attributes.
    """
    if is_end:
        return (2 if name in _MADE_BY_END else 1) + (2 * reopened if reopened > _USUAL_FORMATTING else 0)
    return 2 if name in _FORMATTING else 2 + 2 * reopened


def _change(opened: list[str], attributes: str, *, is_end: bool) -> int:
    """Open or close a formatting element; by how many more are opened again from now on."""
    if is_end:
        return -1 if opened and opened.pop() is not None else 0
    if opened[-_SAME_FORMATTING:].count(attributes) >= _SAME_FORMATTING:
        return 0
    opened.append(attributes)
    return 1
