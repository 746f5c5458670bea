"""The media type of an answer: by its ``Content-Type`` and, where that names no type, by its first bytes, as browsers.

Who reads which type says the table in ``discovery.page_reading``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from crawlproject.download.answer_repair import MAX_CONTENT_TYPE

if TYPE_CHECKING:
    from scrapy.http import Headers, Response

#: Types that end only with the connection: events, and pictures each of which replaces the last one.
ENDLESS = frozenset(("text/event-stream", "multipart/x-mixed-replace"))

#: Types that mean: unknown.
_UNKNOWN = frozenset(("*/*", "unknown/unknown", "application/unknown"))

#: Bytes of a body that are looked at: what the MIME Sniffing Standard calls the resource header.
_HEAD = 1445
#: Bytes in which the root element of XML is looked for, after declarations and comments.
_PROLOG = 4096

# A type as Chromium and Firefox read it: it ends at white space as well, though the Fetch Standard rejects that.
_TOKEN = rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+"
_type = re.compile(rb"[ \t\r\n]*(" + _TOKEN + rb"/" + _TOKEN + rb")(?![^ \t\r\n;(])").match
_charset = re.compile(rb"charset[ \t]*=[ \t]*[\"']?[ \t]*([\w.:-]+)", re.IGNORECASE).search
#: A comma between two types; those in quoted values are none. Linear.
_parts = re.compile(rb"(?:\"(?:[^\"\\]|\\.|(?!))*+(?:\"|\Z)|[^,\"]|(?!))++", re.DOTALL).findall

#: What HTML begins with; a blank or ">" follows. MIME Sniffing Standard, section 7.1.
_html = re.compile(
    rb"[\t\n\f\r ]*+<(?:!--|"
    rb"(?:!doctype html|html|head|script|iframe|h1|div|font|table|a|style|title|b|body|br|p)[ >])",
    re.IGNORECASE,
).match
_xml = re.compile(rb"[\t\n\f\r ]*+<\?xml").match
_binary = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]").search
_BYTE_ORDER_MARKS = (b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe")
_PDF = b"%PDF-"
#: The root element, after what may stand before it. Linear: each part begins otherwise, and gives nothing up.
_root = re.compile(
    rb"(?:\xef\xbb\xbf)?(?:[\t\n\r ]++|<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^\[>]*+(?:\[[^\]]*+\][\t\n\r ]*+)?>|(?!))*+"
    rb"<([^<>]*+)",
    re.DOTALL,
).match
_name = re.compile(rb"(?:[\w.-]{1,40}:)?([\w.-]{1,40})").match
_xhtml = re.compile(rb"xmlns(?::[\w.-]+)?[\t\n\r ]*=[\t\n\r ]*[\"']http://www\.w3\.org/1999/xhtml[\"']").search


class ContentType(NamedTuple):
    """What the headers say; empty strings: nothing, or nothing valid."""

    #: Lower case, without parameters.
    essence: str
    #: The label, as written.
    charset: str


def declared(headers: Headers) -> ContentType:
    """The last valid type of all ``Content-Type`` headers (Fetch Standard, section 3.3.6); unknown ones are not valid.

    A charset remains valid for a later type that is the same.  Without a valid type the first charset counts.
    """
    values: list[bytes] | None = dict.get(headers, b"Content-Type")
    if not values:
        return _NONE
    return _declared(values[0][:MAX_CONTENT_TYPE] if len(values) == 1 else b",".join(values)[:MAX_CONTENT_TYPE])


_NONE = ContentType("", "")


def media_type(headers: Headers) -> str:
    """The media type that the headers declare, lower case, without parameters; "" if there is none."""
    return declared(headers).essence


@lru_cache(maxsize=256)
def _declared(value: bytes) -> ContentType:
    found = _NONE
    for part in _parts(value):
        named = _type(part)
        essence = named[1].decode("latin-1").lower() if named is not None else ""
        if not essence or essence in _UNKNOWN:
            continue
        charset = _label(part[named.end() :]) if named is not None else ""
        found = ContentType(essence, charset or (found.charset if essence == found.essence else ""))
    return found if found.essence else ContentType("", _label(value))


def _label(parameters: bytes) -> str:
    found = _charset(parameters)
    return "" if found is None else found[1].decode("latin-1")


def sniffed(body: bytes) -> str:
    """The type of a body whose headers name none: HTML, XML, plain text, or ``application/octet-stream``. O(1).

    MIME Sniffing Standard, section 7.1; pictures and archives, which are binary, are not told apart.
    """
    head = body[:_HEAD]
    if _html(head):
        return "text/html"
    if _xml(head):
        return "text/xml"
    is_text = head.startswith(_BYTE_ORDER_MARKS) or not (head.startswith(_PDF) or _binary(head))
    return "text/plain" if is_text else "application/octet-stream"


def essence_of(response: Response) -> str:
    """The media type of a response: as declared, else by its first bytes. O(1): 1 us, 10 us if these decide."""
    return declared(response.headers).essence or sniffed(response.body)


def root_of(body: bytes) -> str:
    """The name of the root element of a body, which is XML, without its prefix; ``xhtml`` by its namespace. O(1)."""
    root = _root(body[:_PROLOG])
    if root is None:
        return ""
    if _xhtml(root[1]) is not None:
        return "xhtml"
    name = _name(root[1])
    return "" if name is None else name[1].decode("latin-1")
