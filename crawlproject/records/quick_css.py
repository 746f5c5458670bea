"""Plain CSS answered by lexbor's tree, which the crawl has already: a tenth of the time of parsing with libxml2.

Plain CSS has names, classes, ids and attributes, joined by descendants; at the top of a page also ``>`` and ``+`` in
the first step.  lxml answers all other selectors, and all on pages that the parsers may read differently (``nesting``).
lexbor's time grows with the number of elements to the power of the descendant steps (30 s for ``p.x ~ p ~ p ~ p`` on
500 paragraphs), so each step is a selector of its own here, and takes linear time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import cssselect
from cssselect.parser import Attrib, Class, CombinedSelector, Element, FunctionalPseudoElement, Hash
from lxml import etree
from selectolax.lexbor import LexborHTMLParser, LexborNode

from crawlproject.records.nesting import Same, nested_alike
from crawlproject.urls.parse_budget import affordable_parts

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Steps of a selector.
MAX_STEPS = 8

#: Elements whose place in the tree depends on the parser: HTML5 inserts ``tbody``.
_MOVED = frozenset(("table", "tbody", "thead", "tfoot", "tr", "colgroup", "col", "caption"))
_INSERTED = frozenset(("tbody", "colgroup"))
#: Elements that one of the two parsers reads as text, or does not see.
_ODD = frozenset(("template", "noscript", "svg", "math", "html", "head", "body", "frameset", "frame", "plaintext"))
_OPERATORS = frozenset(("exists", "=", "~=", "|=", "^=", "$=", "*="))
#: Attributes to which libxml2 gives their name as value, if they have none.
_SWITCHES = frozenset(
    ("checked", "compact", "declare", "defer", "disabled", "ismap", "multiple", "nohref", "noresize", "noshade")
) | {"nowrap", "readonly", "selected"}
#: libxml2 before 2.14 keeps carriage returns.
_KEEPS_RETURNS = etree.LIBXML_VERSION < (2, 14)
#: Within these, the first line break is no text in HTML5.
_WITH_FIRST_BREAK = ("pre", "textarea", "listing")
_BREAKS = ",".join(_WITH_FIRST_BREAK)


class QuickCss(NamedTuple):
    """A compiled selector."""

    #: Each is looked for in what the one before found.
    steps: tuple[str, ...]
    #: Whether it may begin at any element; else only at the top of a page.
    is_relative: bool
    #: Whether it asks for the parent of an element that may be a row of a table.
    is_moved_by_tables: bool = False
    #: ``::attr(NAME)``, and ``::text``.
    attribute: str | None = None
    is_text: bool = False
    #: Whether an empty paragraph may change what it finds.
    is_moved_by_paragraphs: bool = False
    #: Whether these texts may begin with a line break that is no text in HTML5.
    reads_breaks: bool = False

    def select(self, node: LexborNode, *, is_first: bool = False) -> list[Any]:
        """Elements at and below ``node``, or texts, in the order of the page. O(steps x elements)."""
        found = self._elements(node, is_first=is_first and not self.is_text and self.attribute is None)
        if self.is_text:
            if _are_nested(found, self.steps[-1]):
                return [*_texts_in_order(found)]
            return [text for one in found for text in _texts(one)]
        return found if self.attribute is None else attributes(found, self.attribute)

    def _elements(self, node: LexborNode, *, is_first: bool) -> list[LexborNode]:
        *steps, last = self.steps
        found, step = [node], ""
        for number, following in enumerate(steps):
            found, step = (_below(found, step, following) if number else node.css(following)), following
        if not steps:
            return _first(node, last) if is_first else node.css(last)
        if is_first and found:  # nearly always below the first one
            one = found[0].css_first(last)
            if one is not None and one.mem_id != found[0].mem_id:
                return [one]
        return _below(found, step, last)


def _texts(node: LexborNode) -> Iterator[str]:
    """The texts between the children of an element; comments do not separate them."""
    text = ""
    for child in node.iter(include_text=True):
        if child.is_text_node:
            text += child.text_content or ""
        elif not child.is_comment_node:
            if text:
                yield text
            text = ""
    if text:
        yield text


def _are_nested(nodes: list[LexborNode], step: str) -> bool:
    """Whether one of ``nodes``, which ``step`` has found, is below another. O(elements below them)."""
    every = {node.mem_id for node in nodes}
    return len(nodes) > 1 and any(
        one.mem_id in every and one.mem_id != node.mem_id for node in nodes for one in node.css(step)
    )


def _texts_in_order(nodes: list[LexborNode]) -> Iterator[str]:
    """``_texts`` of nested elements: in the order of the page, as XPath gives them. O(elements below them)."""
    every, inner = {node.mem_id for node in nodes}, set[int]()
    for node in nodes:
        if node.mem_id in inner:
            continue
        text, of = "", 0
        for one in node.traverse(include_text=True):
            if not one.is_text_node:
                inner.add(one.mem_id)
                of = of if one.is_comment_node else 0
                continue
            parent = one.parent
            if parent is None or parent.mem_id not in every:
                of = 0
                continue
            if parent.mem_id != of and text:
                yield text
                text = ""
            text, of = text + (one.text_content or ""), parent.mem_id
        if text:
            yield text


def _first(node: LexborNode, step: str) -> list[LexborNode]:
    one = node.css_first(step)
    return [] if one is None else [one]


def _below(nodes: list[LexborNode], step: str, following: str) -> list[LexborNode]:
    """The matches of ``following`` below ``nodes``, the matches of ``step``. No element is examined twice."""
    found: list[LexborNode] = []
    inner: set[int] = set()
    for node in nodes:
        if node.mem_id in inner:
            continue
        if len(nodes) > 1:
            inner.update(one.mem_id for one in node.css(step))
        found += [one for one in node.css(following) if one.mem_id != node.mem_id]
    return found


def attributes(nodes: list[LexborNode], name: str) -> list[str]:
    """The values of an attribute; "" if it has none."""
    every = (node.attributes for node in nodes)
    return [own[name] or "" for own in every if name in own]


def quick_css(expression: str) -> QuickCss | None:
    """The selector, if it is plain. Raises no error for any text."""
    try:
        parsed = cssselect.parse(expression)
        if len(parsed) != 1:
            return None
        steps = [*_steps(parsed[0].parsed_tree)]
        if len(steps) > MAX_STEPS:
            return None
        attribute, is_text = _value(parsed[0].pseudo_element)
    except (cssselect.SelectorError, RecursionError, _NotPlainError):
        return None
    is_joined = len(steps[0].names) > 1
    return QuickCss(
        tuple(step.text for step in steps),
        not is_joined,
        is_joined and "*" in steps[0].names,
        attribute,
        is_text,
        any("+" in step.text for step in steps) or steps[-1].text == "p",
        is_text and steps[-1].names[-1] in ("*", *_WITH_FIRST_BREAK),
    )


class _NotPlainError(Exception):
    pass


class _Step(NamedTuple):
    """CSS as lexbor reads it, and the names of its elements, the last one at the end; ``*`` for any."""

    text: str
    names: tuple[str, ...]


def _value(pseudo: Any) -> tuple[str | None, bool]:
    """``attribute`` and ``is_text`` of ``QuickCss``."""
    if isinstance(pseudo, FunctionalPseudoElement) and pseudo.name == "attr" and len(pseudo.arguments) == 1:
        attribute = str(pseudo.arguments[0].value)
        if attribute == attribute.lower() and attribute not in _SWITCHES:
            return attribute, False
    if pseudo not in (None, "text"):
        raise _NotPlainError
    return None, pseudo == "text"


def _steps(tree: Any) -> Iterator[_Step]:
    if isinstance(tree, CombinedSelector) and tree.combinator == " ":
        yield from _steps(tree.selector)
        yield _compound(tree.subselector)
    else:
        yield _chain(tree)


def _chain(tree: Any) -> _Step:
    """Elements joined by ``>`` and ``+``."""
    if not isinstance(tree, CombinedSelector):
        return _compound(tree)
    before, last = _chain(tree.selector), _compound(tree.subselector)
    names = (*before.names, *last.names)
    if tree.combinator not in (">", "+") or not _MOVED.isdisjoint(names):
        raise _NotPlainError
    return _Step(f"{before.text} {tree.combinator} {last.text}", names)


def _compound(tree: Any) -> _Step:
    """An element with conditions. Values are compared exactly, as XPath does, whatever the mode of the page."""
    conditions: list[str] = []
    while not isinstance(tree, Element):
        conditions.append(_condition(tree))
        tree = tree.selector
    name = (tree.element or "*").lower()
    is_name = name.isascii() and name.isalnum() and name not in _ODD | _INSERTED
    if tree.namespace or not (is_name or (name == "*" and conditions)):
        raise _NotPlainError
    return _Step(name + "".join(reversed(conditions)), (name,))


def _condition(tree: Any) -> str:
    if isinstance(tree, Class):
        return f"[class~={_quoted(tree.class_name)} s]"
    if isinstance(tree, Hash):
        return f"[id={_quoted(tree.id)} s]"
    if not isinstance(tree, Attrib) or tree.namespace or tree.operator not in _OPERATORS:
        raise _NotPlainError
    name = tree.attrib
    if name in _SWITCHES and tree.operator != "exists":
        raise _NotPlainError
    if not (name.isascii() and name.replace("-", "").isalnum() and name == name.lower()):
        raise _NotPlainError
    return (
        f"[{name}]"
        if tree.operator == "exists"
        else f"[{name}{tree.operator}{_quoted(str(getattr(tree.value, 'value', None) or ''))} s]"
    )


def _quoted(text: str) -> str:
    if not text or not text.isprintable() or '"' in text or "\\" in text:
        raise _NotPlainError
    return f'"{text}"'


def html5_root(text: str, tree: LexborHTMLParser | None) -> tuple[LexborNode | None, Same]:
    """The root of a page, of its ``tree`` if there is one; None for a page that both parsers may read differently."""
    if nested_alike is None or (_KEEPS_RETURNS and "\r" in text) or "\0" in text:
        return None, Same(0)
    same = Same(nested_alike(text))
    if not same:
        return None, same
    if tree is None:
        parts = affordable_parts(text)
        if len(parts) != 1 or parts[0].end != len(text):
            return None, Same(0)
        tree = LexborHTMLParser(text, encoding=False)
    return tree.root, same


def lacks_break(node: LexborNode, *, is_text: bool) -> bool:
    """Whether the text of ``node`` may lack a line break that libxml2 keeps. O(elements).

    ``is_text``: white space is collapsed, so one more after white space changes nothing.
    """
    return any(not (is_text and _follows_space(one, node)) for one in node.css(_BREAKS))


def _follows_space(one: LexborNode, node: LexborNode) -> bool:
    """Whether the text of ``node`` before ``one``, which is below it, ends with white space or is empty."""
    while one.mem_id != node.mem_id:
        before, parent = one.prev, one.parent
        if before is None and parent is not None:
            one = parent
        else:
            return before is not None and before.is_text_node and (before.text_content or "")[-1:].isspace()
    return True
