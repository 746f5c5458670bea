"""The text of a page in lines, as a reader sees it, and where a keyword is in it.

Blocks begin and end lines, as do ``<br>`` and the line breaks of preformatted text; cells of a table row are separated
by spaces.  Other elements leave no trace, so that a keyword is found over their borders.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left, bisect_right
from itertools import accumulate
from typing import NamedTuple

from selectolax.lexbor import LexborHTMLParser

from crawlproject.content.relevance.words import few_marks, without_ignorable, without_surrogates
from crawlproject.urls.extract import open_shadow_roots
from crawlproject.urls.parse_budget import affordable_length

#: Characters of text that are searched, and characters of a line: longer ones are broken.
MAX_SEARCHED = 5_000_000
MAX_LINE = 10_000
#: Characters of a keyword.
MAX_KEYWORD = 100
#: Lines with the keyword that are reported of a page, and characters shown of one on each side of it.
MAX_FOUND = 20
_SHOWN = 200

#: What browsers do not show: by the element, and perhaps by its style.
_HIDDEN = (
    "script,style,template,noscript,head,title,datalist,dialog:not([open]),iframe,noembed,noframes,audio,video,canvas,rp,rt,"
    "annotation,annotation-xml,[hidden]"
)
_STYLED = '[style*="none" i],[style*="hidden" i],[style*="collapse" i]'
_hides = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse))\b", re.IGNORECASE).search
_BLOCKS = (
    "address,article,aside,blockquote,br,caption,center,dd,details,dialog,dir,div,dl,dt,fieldset,figcaption,figure,footer,"
    "form,frameset,h1,h2,h3,h4,h5,h6,header,hgroup,hr,legend,li,listing,main,menu,nav,ol,optgroup,option,p,plaintext,pre,"
    "search,section,summary,table,tbody,textarea,tfoot,thead,tr,ul,xmp"
)
_CELLS = "td,th"
_PREFORMATTED = "pre,textarea,listing,xmp"
#: Marks of a line's end, of the borders of preformatted text, and of a cell; they are put into the document.
_BREAK, _PRE, _END, _CELL = "\x1e", "\x02", "\x03", "\x1f"
_preformatted = re.compile(f"{_PRE}[^{_PRE}{_END}]*{_END}").sub
_inner_breaks = re.compile(r"\r\n?|\n").sub
#: Characters that are commands to a terminal.
_controls = re.compile(r"[\x00-\x1f\x7f-\x9f]").sub
_spaces = str.maketrans({_PRE: " ", _END: " ", _CELL: " "})

#: As keyboards have them: pages have curved quotation marks and another hyphen; Turkish has an i without a dot, and a
#: capital with one, which without case is an i and a dot. Single replacements take a tenth of the time of a table.
_TYPED = (
    *((curved, "'") for curved in "\u2018\u2019\u201b\u02bc"),
    *((curved, '"') for curved in "\u201c\u201d\u201e\u201f"),
    *(("\u2010", "-"), ("\u0131", "i"), ("i\u0307", "i")),
)


class Found(NamedTuple):
    """A keyword on a page."""

    #: Number of the line, from 1; empty lines are not counted.
    line: int
    #: The line, or its part around the keyword, in NFKC, with ``**`` on each side of the keyword; a space for each
    #: control character.
    text: str


def visible_lines(html: str, without: str = "") -> list[str]:
    """The lines of a page's body that are not empty, in NFKC, white space collapsed. O(length).

    ``without``: a selector of further elements that are left out.
    """
    tree = LexborHTMLParser(html[: affordable_length(html)])
    open_shadow_roots(tree)
    if tree.body is None:
        return []
    for node in reversed(tree.body.css(without) if without else []):  # innermost first
        node.decompose()
    styled = [node for node in tree.css(_STYLED) if _hides(node.attributes.get("style") or "")]
    for node in (*tree.css(_HIDDEN), *styled):
        if node.tag != "body":
            node.decompose()
    for node in tree.body.css(_BLOCKS):
        node.insert_before(_BREAK)
        node.insert_after(_BREAK)
    for node in tree.body.css(_CELLS):
        node.insert_before(_CELL)
    for node in tree.body.css(_PREFORMATTED):
        node.insert_before(_PRE)
        node.insert_after(_END)
    text = tree.body.text(separator="")[:MAX_SEARCHED]
    return text_lines(_preformatted(lambda found: _inner_breaks(_BREAK, found[0]), text), _BREAK)


def text_lines(text: str, line_break: str = "\n") -> list[str]:
    """The lines of a text that are not empty, as ``visible_lines``."""
    collapsed = (" ".join(raw.translate(_spaces).split()) for raw in text[:MAX_SEARCHED].split(line_break))
    return [nfkc(line[start : start + MAX_LINE]) for line in collapsed for start in range(0, len(line), MAX_LINE)]


def nfkc(text: str) -> str:
    """``text`` in NFKC. O(length), also for hostile text."""
    return text if text.isascii() else unicodedata.normalize("NFKC", few_marks(without_surrogates(text)))


def folded_keyword(keyword: str) -> str:
    """``keyword`` as it is looked for: in NFKC, without case, characters that are not shown, repeated white space."""
    return " ".join(_fold(nfkc(keyword)).split())


def _fold(text: str) -> str:
    if text.isascii():
        return text.lower()
    folded = without_ignorable(nfkc(text.casefold()))
    for written, typed in _TYPED:
        folded = folded.replace(written, typed)
    return folded


def find_keyword(lines: list[str], keyword: str) -> list[Found]:
    """Positions of a ``folded_keyword`` in ``lines``: the first ``MAX_FOUND``, one for each line. O(length).

    White space in the keyword also matches the border of two lines; then both are shown.
    """
    if not keyword:
        return []
    folded = [" ".join(_fold(line).split()) for line in lines]
    text = " ".join(folded)
    found: list[Found] = []
    number, begin = 0, 0
    position = text.find(keyword)
    while position >= 0 and len(found) < MAX_FOUND:
        while position > begin + len(folded[number]):
            begin += len(folded[number]) + 1
            number += 1
        last, end = number, begin + len(folded[number])
        while end < position + len(keyword):
            last += 1
            end += 1 + len(folded[last])
        shown = " ".join(lines[number : last + 1])
        found.append(Found(number + 1, _controls(" ", _marked(shown, position - begin, keyword))))
        position = text.find(keyword, end)
    return found


def _marked(line: str, at: int, keyword: str) -> str:
    ends = list(accumulate(len(_fold(char)) for char in line))
    start, end = bisect_right(ends, at), bisect_left(ends, at + len(keyword)) + 1
    if keyword not in _fold(line[start:end]):  # folding the whole line composed characters differently: rare
        return line[: 2 * _SHOWN]
    before, after = line[max(0, start - _SHOWN) : start], line[end : end + _SHOWN]
    return (
        f"{'…' if start > _SHOWN else ''}{before}**{line[start:end]}**{after}{'…' if end + _SHOWN < len(line) else ''}"
    )
