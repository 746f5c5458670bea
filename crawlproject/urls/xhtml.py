"""XHTML as HTML: what an XML parser reads, written so that an HTML parser reads the same.

HTML parsers know neither ``<script/>`` nor ``<h:a>`` nor CDATA: a self-closed ``<title/>`` swallows the rest.
Written as HTML, such a page is read by the same code as any other.
"""

from __future__ import annotations

from html import escape
from xml.parsers import expat

#: Characters of a page; a longer one is read as HTML. Its parse takes up to 1 s.
MAX_XHTML = 2_000_000

_XHTML = "http://www.w3.org/1999/xhtml"
#: Namespace -> prefix of the attributes that HTML parsers know.
_ATTRIBUTES = {"http://www.w3.org/1999/xlink": "xlink:", "http://www.w3.org/XML/1998/namespace": "xml:"}
#: Namespaces whose elements HTML knows without a prefix.
_FOREIGN = frozenset(("http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML"))
#: Between namespace and name; valid in neither.
_BETWEEN = "\n"

#: Elements that HTML closes by themselves.
_VOID = frozenset(
    (
        *("area", "base", "br", "col", "embed", "hr", "img"),
        *("input", "link", "meta", "param", "source", "track", "wbr"),
    )
)
#: Elements in which HTML parsers know no elements: their text is written as it is, or not at all.
_RAW = frozenset(("script", "style", "iframe", "noembed", "noframes"))
#: Elements in which HTML parsers know only text.
_TEXT = frozenset(("title", "textarea"))
#: Elements that HTML parsers read as raw text, but browsers show.
_AS_PRE = frozenset(("xmp", "plaintext", "listing"))


def as_html(text: str) -> str | None:
    """The page as HTML; None if *text* is not well-formed XHTML, or is too long or declares entities. O(length).

    Entities are never expanded: a page that declares any is refused before its first element.  Those that the DTDs of
    XHTML declare, such as ``&nbsp;``, are left to the HTML parser, if the page names a DTD.  Nothing is loaded.
    """
    if len(text) > MAX_XHTML:
        return None
    writer = _Writer()
    parser = expat.ParserCreate(namespace_separator=_BETWEEN)
    parser.buffer_text = True
    parser.StartElementHandler = writer.start
    parser.EndElementHandler = writer.end
    parser.CharacterDataHandler = writer.text
    parser.EntityDeclHandler = _refuse
    parser.SkippedEntityHandler = writer.entity
    try:
        parser.Parse(text, True)
    except (expat.ExpatError, ValueError):  # UnicodeEncodeError is a ValueError: half of a surrogate pair
        return None
    return writer.html()


def _refuse(*_declaration: object) -> None:
    raise ValueError("entities")


class _Writer:
    """Writes HTML as the parser reads XHTML."""

    def __init__(self) -> None:
        self._out: list[str] = ["<!DOCTYPE html>"]
        self._raw: list[str] = []  # text of the raw element that is open
        self._opaque = ""  # the open element in which HTML knows no elements
        self._depth = 0  # of elements within it
        self._has_root = False

    def html(self) -> str:
        return "".join(self._out)

    def start(self, written: str, attributes: dict[str, str]) -> None:
        if self._opaque:
            self._depth += 1
            return
        namespace, name = self._named(written)
        if not name:
            return
        self._out.append(f"<{name}{''.join(map(_attribute, attributes.items()))}>")
        if namespace == _XHTML and (name in _RAW or name in _TEXT):
            self._opaque = name

    def end(self, written: str) -> None:
        if self._opaque:
            if self._depth:
                self._depth -= 1
                return
            self._end_opaque()
            return
        _, name = self._named(written)
        if name and name not in _VOID:
            self._out.append(f"</{name}>")

    def text(self, text: str) -> None:
        if self._opaque in _RAW:
            self._raw.append(text)
        else:
            self._out.append(escape(text, quote=False))

    def entity(self, name: str, is_parameter: bool) -> None:
        if not is_parameter and self._opaque not in _RAW:
            self._out.append(f"&{name};")

    def _end_opaque(self) -> None:
        raw = "".join(self._raw)
        if "</" not in raw and "<!--" not in raw:  # else an HTML parser would see its end, or a comment, there
            self._out.append(raw)
        self._out.append(f"</{self._opaque}>")
        self._opaque = ""
        self._raw.clear()

    def _named(self, written: str) -> tuple[str, str]:
        """Namespace and name in HTML, "" if it is none there. Raises ValueError if the root is not XHTML."""
        namespace, _, name = written.rpartition(_BETWEEN)
        if not self._has_root:
            if namespace != _XHTML:
                raise ValueError("no XHTML")
            self._has_root = True
        if not name[:1].isascii() or not name[:1].isalpha() or not (namespace == _XHTML or namespace in _FOREIGN):
            return namespace, ""
        return namespace, "pre" if name in _AS_PRE else name


def _attribute(attribute: tuple[str, str]) -> str:
    written, value = attribute
    namespace, _, name = written.rpartition(_BETWEEN)
    if namespace and namespace not in _ATTRIBUTES:
        return ""
    return f' {_ATTRIBUTES.get(namespace, "")}{name}="{escape(value)}"'
