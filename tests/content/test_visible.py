"""The lines of a page as a reader sees them, and keywords in them."""

from __future__ import annotations

import pytest

from crawlproject.content.relevance.visible import (
    MAX_FOUND,
    find_keyword,
    folded_keyword,
    text_lines,
    visible_lines,
)

PAGE = """<html><head><title>Title</title><style>p{}</style></head><body>
<h1>A
  heading</h1><p>a key<b>wo</b>rd<br>second <script>keyword()</script>line</p>
<table><tr><td>one</td><td>two</td></tr></table><pre>x
 y

z</pre><div hidden>hidden</div><p style="display: none">none</p><noscript>no</noscript><template>t</template>
<!-- comment --><p>last</p></body></html>"""


def find(html: str, keyword: str) -> list[tuple[int, str]]:
    return [tuple(found) for found in find_keyword(visible_lines(html), folded_keyword(keyword))]


def test_lines_are_those_that_a_reader_sees() -> None:
    """Blocks, <br> and preformatted line breaks end lines; nothing invisible; white space collapsed."""
    lines = ["A heading", "a keyword", "second line", "one two", "x", "y", "z", "last"]
    assert visible_lines(PAGE) == lines
    assert text_lines("a  b\n\nc") == ["a b", "c"]
    assert visible_lines("") == visible_lines("<frameset><frame></frameset>") == []


@pytest.mark.parametrize(
    ("keyword", "found"),
    [
        ("keyword", [(2, "a **keyword**")]),
        ("KEYWORD", [(2, "a **keyword**")]),
        ("keyｗord", [(2, "a **keyword**")]),
        ("one  two", [(4, "**one two**")]),
        ("line one", [(3, "second **line one** two")]),
        ("x y z last", [(5, "**x y z last**")]),
        ("hidden", []),
        ("comment", []),
        ("Title", []),
        ("secondline", []),
    ],
)
def test_a_keyword_is_found_over_the_borders_of_elements(keyword: str, found: list[tuple[int, str]]) -> None:
    """And white space in it also matches the end of a line."""
    assert find(PAGE, keyword) == found


def test_unicode_is_folded_and_the_line_shown_as_written() -> None:
    """Full case folding, NFKC; several lines each once; at most MAX_FOUND."""
    assert find("<p>die STRASSE und die Straße</p>", "straße") == [(1, "die **STRASSE** und die Straße")]
    assert find("<p>多线程<i>编</i>程</p>", "线程编程") == [(1, "多**线程编程**")]
    assert find("<p>cafe\u0301 noir</p>", "CAFÉ") == [(1, "**café** noir")]
    assert find("<p>ﬁle</p>", "file") == [(1, "**file**")]
    assert len(find("<p>a</p>" * 100, "a")) == MAX_FOUND


def test_long_lines_are_shown_around_the_keyword() -> None:
    """200 characters on each side."""
    [(line, text)] = find(f"<p>{'x' * 1_000} needle {'y' * 1_000}</p>", "needle")
    assert line == 1
    assert text == f"…{'x' * 199} **needle** {'y' * 199}…"


def test_the_markers_of_the_reader_itself_do_no_harm() -> None:
    """Control characters in a page are borders of lines, or nothing."""
    assert find("<p>a\x02b\x03c\x1ed\x1f needle</p><pre>\x03\x02e\nf</pre>", "needle")
