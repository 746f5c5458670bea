"""The results of rules by lexbor's tree and by libxml2's, which must be equal on any page."""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from selectolax.lexbor import LexborHTMLParser, LexborNode

from crawlproject.records.reading import Source, read_page
from crawlproject.records.rule_file import read_site

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from crawlproject.records.rules import RecordRule, SiteRules

URL = "http://shop.example/book/1"

PLAIN = (
    "h1", "p", "a::attr(href)", "a", ".x", "#y", "p.x", "li", "li b", "div p", ".x .x", "ul li b", "div > p", "p + p",
    "td", "tr", "table td", "h1::text", "p::text", "[title]", "a[href^='/']", "a[rel=next]", "a[rel~=next]", "i", "b",
    "span", "title", "link::attr(href)", "div div", "div::text", "div div::text", "span::text", "div p::text",
    "td > a", "DIV P", "a[href*='x'] b", "form p", "font", "textarea",
)  # fmt: skip

_is_word = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,40}").fullmatch


class Outcome(NamedTuple):
    """Rows and problems by both ways, and whether the quick one was taken."""

    quick: Any
    slow: Any
    is_quick: bool

    @property
    def differ(self) -> bool:
        """Whether they differ, but for fields that libxml2 would take too long for on a page of this shape."""
        refused = {problem.name for problem in self.slow[1] if "too slow" in problem.reason}
        return _without(self.quick, refused) != _without(self.slow, refused)


def _without(found: Any, names: set[str]) -> Any:
    rows, problems = found
    fields = {name.rpartition(".")[2] for name in names}
    kept = ({name: value for name, value in row.items() if name not in fields} for row in rows)
    return [
        [row for row in kept if any(value not in (None, []) for value in row.values())],
        [problem for problem in problems if problem.name not in names],
    ]


def rules_of(selectors: Iterable[str], head: str = "") -> SiteRules:
    """Two fields for each selector: ``fN`` has all its values, ``gN`` the first."""
    fields = "\n".join(
        f'f{number} = {{ css = "{one}", many = true }}\ng{number} = "{one}"' for number, one in enumerate(selectors)
    )
    return read_site(f'seeds = ["{URL}"]\n[records.r]\n{head}\n[records.r.fields]\n{fields}\n', Path("x.toml"))


def both_ways(rule: RecordRule, text: str, url: str = URL) -> Outcome:
    """Apply a rule to a page."""
    source, other = Source(text, url), Source(text, url)
    is_quick = isinstance(source.root_for(rule), LexborNode)
    other._has_html5 = False
    (quick,), (slow,) = read_page(source, [rule]), read_page(other, [rule])
    return Outcome((quick.rows, quick.problems), (slow.rows, slow.problems), is_quick)


def own_selectors(text: str, count: int) -> list[str]:
    """Plain selectors made of elements of the page, for ``count`` of its elements; the same in every run."""
    tree = LexborHTMLParser(text)
    nodes = [] if tree.body is None else [node for node in tree.body.traverse() if _is_plain(node)]
    seed = zlib.crc32(text[:10_000].encode("utf-8", "replace"))
    chosen = {(seed + number * 2_654_435_761) % len(nodes) for number in range(count)} if nodes else set()
    return [*dict.fromkeys(one for place in sorted(chosen) for one in _selectors(nodes[place]))]


def _is_plain(node: LexborNode) -> bool:
    return bool(node.tag) and node.tag.isalnum() and node.tag.isascii()


def _selectors(node: LexborNode) -> Iterator[str]:
    own, parent, before = _compound(node), node.parent, node.prev
    yield own
    yield f"{own}::text"
    for name, value in node.attributes.items():
        if name.isascii() and name.isalpha():
            yield f"{node.tag}::attr({name})"
            if value and _is_word(value):
                yield f"{node.tag}[{name}='{value}']"
    if parent is not None and _is_plain(parent):
        yield f"{_compound(parent)} {own}"
        yield f"{_compound(parent)} > {node.tag}"
        if parent.parent is not None and _is_plain(parent.parent):
            yield f"{parent.parent.tag} {node.tag}::text"
            yield f"{_compound(parent.parent)} > {_compound(parent)} > {own}"
    while before is not None and not _is_plain(before):
        before = before.prev
    if before is not None:
        yield f"{_compound(before)} + {node.tag}"


def _compound(node: LexborNode) -> str:
    name = node.attributes.get("id") or ""
    classes = "".join(f".{one}" for one in (node.attributes.get("class") or "").split() if _is_word(one))
    return f"{node.tag}{classes}" if classes or not _is_word(name) else f"{node.tag}#{name}"
