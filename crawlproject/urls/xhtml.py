"""XHTML as HTML: what an XML parser reads, written so that an HTML parser reads the same.

HTML parsers know neither ``<script/>`` nor ``<h:a>`` nor CDATA: a self-closed ``<title/>`` swallows the rest.
"""

from __future__ import annotations

import re

from lxml import etree

#: Characters of a page; a longer one is read as HTML. Its parse takes up to 1 s.
MAX_XHTML = 2_000_000

_XHTML = "http://www.w3.org/1999/xhtml"
#: Namespaces whose elements HTML knows without a prefix.
_KNOWN = frozenset((_XHTML, "http://www.w3.org/2000/svg", "http://www.w3.org/1998/Math/MathML"))
_XLINK = "{http://www.w3.org/1999/xlink}href"
#: Elements that HTML parsers read as text, so that nothing in it may look like their end.
_RAW = frozenset(("script", "style", "iframe", "noembed", "noframes", "title", "textarea"))
_MARKUP = re.compile("</|<!--")


def as_html(text: str) -> str | None:
    """The page as HTML; None if *text* is not well-formed XHTML, or is too long or declares entities. O(length).

    Entities that the DTDs of XHTML declare, such as ``&nbsp;``, are left to the HTML parser, if the page names a DTD.
    Nothing is loaded.
    """
    if len(text) > MAX_XHTML or "<!ENTITY" in text:
        return None
    parser = etree.XMLParser(
        encoding="utf-8", resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True
    )
    try:
        root = etree.fromstring(text.encode(), parser)
    except (etree.XMLSyntaxError, UnicodeEncodeError):
        return None
    if etree.QName(root).namespace != _XHTML:
        return None
    for element in root.iter(etree.Element):
        name = etree.QName(element)
        element.tag = name.localname if name.namespace in _KNOWN else "span"
        if (target := element.attrib.pop(_XLINK, None)) is not None:
            element.set("href", target)
        if element.tag in _RAW and (element.find("*") is not None or _MARKUP.search("".join(element.itertext()))):
            element.text = None
            del element[:]
    return str(etree.tostring(root, method="html", encoding="unicode", doctype="<!DOCTYPE html>"))
