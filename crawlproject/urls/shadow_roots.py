"""Declarative shadow DOM: a ``<template shadowrootmode>`` shows its content; any other template does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

#: Selects the templates, of which some are in no host.
SHADOW_ROOTS = "template[shadowrootmode]"

#: Shadow roots of a tree that are read: 0.2 s. Pages of hundreds of components have hundreds.
MAX_ROOTS = 5_000

#: Elements that may have a shadow root, besides those with a hyphen in their name (DOM Standard, section 4.9).
_HOSTS = frozenset(
    (
        *("article", "aside", "blockquote", "body", "div", "footer", "h1", "h2", "h3", "h4", "h5", "h6"),
        *("header", "main", "nav", "p", "section", "span"),
    )
)


def open_shadow_roots(parser: LexborHTMLParser) -> None:
    """Put the content of the shadow roots of the tree in the place of their templates, nested ones as well. O(nodes).

    Open and closed ones alike: readers see both.  Of several templates in a host the first one counts, and of a tree
    the first ``MAX_ROOTS``.
    """
    hosts: set[int] = set()
    templates = parser.css(SHADOW_ROOTS)
    while templates:
        nested = []
        for template in templates:
            host, mode = template.parent, (template.attributes["shadowrootmode"] or "").lower()
            if host is None or host.mem_id in hosts or mode not in ("open", "closed") or len(hosts) >= MAX_ROOTS:
                continue
            name = host.tag or ""
            if name not in _HOSTS and "-" not in name:
                continue
            hosts.add(host.mem_id)
            content = template.template_fragments()[0]
            nested += content.css(SHADOW_ROOTS)
            for node in list(content.iter(include_text=True)):
                template.insert_before(node, move=True)
            template.remove()
        templates = nested
