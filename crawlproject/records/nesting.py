"""Finds pages of which libxml2 and lexbor make the same tree: those whose elements are nested as browsers expect.

On real pages many elements end before their end tag (``<p>`` before ``<figure>``), or have none; both parsers repair
them, each in its own way.  One walk over the tags finds such elements.  It refuses every page whose trees may differ: a
wrong refusal costs a second parse and nothing else.  The tables below are what both parsers do with each pair of
elements; ``tests/records/test_nesting.py`` tries all pairs.  The walk itself is in the extension.
"""

from __future__ import annotations

from enum import IntFlag, auto
from typing import TYPE_CHECKING, NamedTuple

from crawlproject.urls.native import NATIVE

if TYPE_CHECKING:
    from collections.abc import Callable

#: Of open elements; deeper pages are refused.
MAX_DEPTH = 250


class Same(IntFlag):
    """Whether both parsers make the same tree; 0: perhaps not."""

    YES = auto()
    #: Except for a line break at the start of ``<pre>``, ``<textarea>`` or ``<listing>``, which is no text in HTML5.
    BUT_BREAKS = auto()
    #: Except for empty paragraphs, which ``</p>`` without ``<p>`` makes in HTML5.
    BUT_PARAGRAPHS = auto()
    #: Except for ``<tbody>`` and ``<colgroup>``, which HTML5 inserts.
    BUT_PARTS = auto()


class Kind(NamedTuple):
    """What is known of an element. Masks have the ``bit`` of each name in them."""

    bit: int = 0
    #: Parents, and ancestors, in which it is refused.
    refused_in: int = 0
    refused_below: int = 0
    #: Parents of which one is needed; 0: any but parts of a table.
    needs: int = 0
    #: Open elements without an end tag that its start tag and its end tag end.
    start_ends: int = 0
    end_ends: int = 0
    #: Ancestors that it hides from ``refused_below``.
    hides: int = 0
    #: Of ``_FLAGS``.
    flags: int = 0


class Flag(IntFlag):
    """A property of an element."""

    VOID = auto()
    #: Void in HTML5 alone: libxml2 needs "/>".
    VOID_IF_CLOSED = auto()
    #: Its content is text.
    RAW = auto()
    #: The same, or markup, by version.
    PLAIN_RAW = auto()
    REFUSED = auto()
    #: May be in the head.
    IN_HEAD = auto()
    #: Ends a head without tags of its own.
    ENDS_HEAD = auto()
    #: May be anywhere in a table.
    IN_TABLES = auto()
    #: Its first line break is no text in HTML5.
    BREAK = auto()
    HTML = auto()
    HEAD = auto()
    BODY = auto()
    NOSCRIPT = auto()


_HEADINGS = "h1 h2 h3 h4 h5 h6"
#: Flag -> names.
_FLAGS = {
    Flag.VOID: "area base br col hr img input link meta param",
    Flag.VOID_IF_CLOSED: "embed source track wbr",
    Flag.RAW: "script style title textarea",
    Flag.PLAIN_RAW: "iframe",
    Flag.REFUSED: "basefont bgsound frame frameset image isindex keygen noembed noframes plaintext selectedcontent "
    "template xmp",
    Flag.IN_HEAD: "base link meta noscript script style title",
    Flag.ENDS_HEAD: "a abbr acronym address b bdo big blockquote br center cite code dd dfn dir div dl dt em fieldset "
    f"font form {_HEADINGS} hr i iframe img kbd li listing map menu ol p pre q s samp small span strike strong sub sup "
    "table tt u ul var",
    Flag.IN_TABLES: "script style",
    Flag.BREAK: "listing pre textarea",
    Flag.HTML: "html",
    Flag.HEAD: "head",
    Flag.BODY: "body",
    Flag.NOSCRIPT: "noscript",
}
#: Children -> parents whose start tag they end in one parser at least.
_REFUSED_IN = {
    "fieldset table": f"a legend pre listing {_HEADINGS}",
    "form": f"address dir menu dl form ol ul pre listing {_HEADINGS}",
    "li": f"address dl pre listing {_HEADINGS}",
    "ul": "address dir menu pre listing",
    "dl": "address dir menu dt pre listing",
    "dd dt": "address dir menu pre listing",
    "address menu pre": "ul",
    "title": "p",
    "p": f"b i big s small strike tt u {_HEADINGS}",
    "center": "b i font",
    _HEADINGS: _HEADINGS,
    "rb rp rt rtc": "rp rt",
}
#: Names -> ancestors below which browsers, or both, end elements between.
_REFUSED_BELOW = {
    "a": "a",
    "button": "button",
    "nobr": "nobr",
    "form": "form",
    "li": "li",
    "dd dt": "dd dt",
    "hr input li p select": "select",
    "optgroup": "optgroup",
    "rb rp rt rtc": "li",
    "address article aside blockquote center dd details dialog dir div dl dt fieldset figcaption figure footer form "
    f"{_HEADINGS} header hgroup hr li listing main menu nav ol p pre rb rp rt rtc search section summary table ul": "p",
    f"area b base big blockquote br center code dd div dl dt em embed font {_HEADINGS} hr i img input li link "
    "listing menu meta nobr ol p param pre ruby s small span strike strong sub sup table tt u ul var": "svg math",
}
_HIDES = {"ul ol dir menu dl table": "li dd dt"}
_NEEDS = {
    "caption colgroup thead tbody tfoot": "table",
    "tr": "table thead tbody tfoot",
    "td th": "tr",
    "col": "table colgroup",
}
#: Start tags -> open elements that they end in both parsers.
_START_ENDS = {
    f"address blockquote center dd dir div dl dt fieldset form {_HEADINGS} hr li listing menu ol p pre ul": "p",
    "li": "li",
    "dd": "dt",
    "dt": "dd",
    "td th": "td th p",
    "tr": "td th tr colgroup p",
    "tbody tfoot": "td th tr thead tbody colgroup p",
    "thead colgroup": "colgroup",
    "option": "option",
    "optgroup": "option",
}
#: End tags -> open elements that they end in both parsers.
_END_ENDS = {
    "address article aside blockquote button center details div fieldset figcaption figure footer form header li main "
    "nav object section summary td th dd dt": "p",
    "ul ol": "li p",
    "dl": "dd dt p",
    "tr": "td th p",
    "thead tbody tfoot": "tr td th p",
    "table": "thead tbody tfoot tr td th colgroup p",
    "select": "option optgroup",
    "optgroup": "option",
    "body html": "p li dd dt",
}


def _kinds() -> dict[str, Kind]:
    tables = (_REFUSED_IN, _REFUSED_BELOW, _NEEDS, _START_ENDS, _END_ENDS, _HIDES)
    named = dict.fromkeys(name for table in tables for names in table.values() for name in names.split())
    bits = {name: 1 << number for number, name in enumerate(named)}
    every = dict.fromkeys(name for table in (*tables, _FLAGS.values()) for names in table for name in names.split())

    def mask(table: dict[str, str], name: str) -> int:
        return sum({bits[one] for names, of in table.items() if name in names.split() for one in of.split()})

    def flags(name: str) -> int:
        return sum(int(flag) for flag, names in _FLAGS.items() if name in names.split())

    def kind(name: str) -> Kind:
        refused_in, refused_below, needs, start_ends, end_ends, hides = (mask(table, name) for table in tables)
        return Kind(bits.get(name, 0), refused_in, refused_below, needs, start_ends, end_ends, hides, flags(name))

    return {name: kind(name) for name in (*every, *(name for name in bits if name not in every))}


KINDS = _kinds()
_PARTS = sum(KINDS[name].bit for name in ["table", "thead", "tbody", "tfoot", "tr", "colgroup"])
_ENDED_AT_THE_END = sum(KINDS[name].bit for name in ["p", "li", "dd", "dt"])
_FOREIGN = KINDS["svg"].bit | KINDS["math"].bit


def _walk() -> Callable[[str], int] | None:
    make = getattr(NATIVE, "Nesting", None)  # None: the extension is not installed, or an older one
    flags = {str(flag.name): int(flag) for flag in Flag}
    return None if make is None else make(KINDS, flags, _PARTS, _ENDED_AT_THE_END, _FOREIGN, MAX_DEPTH)


#: Text of a page -> bits of ``Same``. O(length). None without the extension: in Python this takes longer than libxml2's
#: parse.
nested_alike: Callable[[str], int] | None = _walk()
