"""Decides from the HTML alone whether a page needs its scripts."""

from __future__ import annotations

import re

import re2
from selectolax.lexbor import LexborHTMLParser, LexborNode

from crawlproject.urls.extract import open_shadow_roots

#: Bytes of a page that are looked at. A longer one, up to ``_MAX_FILLED``, is looked at without its scripts, style
#: sheets and long attributes; if it is too long even then, its start does not tell how much text it has.
MAX_EXAMINED = 262_144
_MAX_FILLED = 16 * MAX_EXAMINED
#: Elements or attributes of a kind that are emptied: some microseconds each.
_MAX_EMPTIED = 2_000

#: Visible characters (without white space) from which on a page is complete as it is.
ENOUGH_TEXT = 400

#: Visible characters, and links, up to which a page with scripts is considered empty.
LITTLE_TEXT = 80
FEW_LINKS = 2

#: Elements into which frameworks put the page: their customary ids, and Angular's and others' own elements.
_IDS = (
    "app root __next __nuxt __layout ___gatsby svelte ember-app react-root react-app vue-app q-app main-app app-root"
    " mount application spa elm app-container root-container"
)
_ROOT_IDS = frozenset(_IDS.split())
_ROOT_TAGS = frozenset(("app-root", "my-app", "ng-app", "app-main"))
#: What a page may show besides text.
_SHOWN = "a[href],img,picture,svg,canvas,iframe,object,embed,video,audio,input,button,applet"

_asks_for_scripts = re.compile(r"javascript|java script|enable js", re.IGNORECASE).search
_white = re.compile(r"\s+")
#: Text without meaning: places that a framework fills, and a page that says that it is being loaded.
_empty = re.compile(r"\{\{[^{}]{0,200}\}\}|\A(?:loading|pleasewait)[.!…]*\Z", re.IGNORECASE).sub
#: What is removed from a long page; re takes quadratic time for many that do not end.
_FILLING = (
    (re2.compile(rb"""(?is)(<script\b(?:[^>"']|"[^"]*"|'[^']*')*>).*?(</script)""").sub, rb"\1\2"),
    (re2.compile(rb"(?is)<style\b.*?</style").sub, b"<style></style"),
    (re2.compile(rb'="[^"<>]{1000,}"').sub, b'=""'),  # images, scripts, and the data of Inertia's applications
)

EMPTY_ROOT, NOSCRIPT, LITTLE = ("empty_root", "noscript", "little_text")


def reason_to_render(body: bytes) -> str | None:
    """The reason why the page needs its scripts; None if it does not. 0.1 ms for 10 kB, below 0.1 s for any page.

    ``empty_root``: a framework's root element is empty, and there is little else.  ``noscript``: the page asks to
    enable JavaScript and says little else.  ``little_text``: hardly any text or link and two scripts, or one building
    an element; or nothing at all.  A page without scripts, with frames or with ``ENOUGH_TEXT`` needs none.
    """
    if MAX_EXAMINED < len(body) <= _MAX_FILLED:
        for remove, rest in _FILLING:
            body = remove(rest, body, _MAX_EMPTIED)
    if len(body) > MAX_EXAMINED or b"<script" not in body.lower():
        return None
    tree = LexborHTMLParser(body)
    open_shadow_roots(tree)
    if tree.body is None or tree.css_first("frameset,meta[http-equiv=refresh i]") is not None:
        return None
    scripts = [script for script in tree.css("script") if _runs(script)]
    asks = any(_asks_for_scripts(node.text() or "") for node in tree.css("noscript"))
    for node in tree.css("script,style,noscript,template,svg"):
        if node.tag != "svg" or node.parent is not None:
            node.decompose()
    text = len(_empty("", _white.sub("", tree.body.text(separator=" "))))
    if not scripts or text >= ENOUGH_TEXT:
        return None
    if _has_empty_root(tree):
        return EMPTY_ROOT
    links = len(tree.css("a[href]"))
    if asks and links <= FEW_LINKS:
        return NOSCRIPT
    if text <= LITTLE_TEXT and links <= FEW_LINKS and (len(scripts) >= 2 or _builds_an_element(tree)):
        return LITTLE
    return None if text or tree.css_first(_SHOWN) else LITTLE


def _runs(script: LexborNode) -> bool:
    """Whether it is a program, not data (JSON-LD, templates)."""
    kind = (script.attributes.get("type") or "").strip().lower()
    return not kind or kind == "module" or "javascript" in kind or "ecmascript" in kind


def _builds_an_element(tree: LexborHTMLParser) -> bool:
    """Whether the body has an element of the page's own making, such as ``<shop-app>``."""
    return any("-" in (node.tag or "") for node in tree.css("body>*"))


def _has_empty_root(tree: LexborHTMLParser) -> bool:
    for node in tree.css("[id],app-root,my-app,ng-app,app-main,[ng-app],[data-reactroot],[ng-version]"):
        identifier = (node.attributes.get("id") or "").lower()
        is_root = identifier in _ROOT_IDS or node.tag in _ROOT_TAGS or "ng-app" in node.attributes
        if is_root and len(_white.sub("", node.text() or "")) <= LITTLE_TEXT and len(node.css("a[href]")) <= FEW_LINKS:
            return True
    return False
