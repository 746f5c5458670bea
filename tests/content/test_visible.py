"""The lines of a page as a reader sees them, and keywords in them."""

import pytest

from crawlproject.content.relevance.visible import MAX_FOUND, find_keyword, folded_keyword, text_lines, visible_lines

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


@pytest.mark.parametrize(
    ("html", "keyword", "text"),
    [
        ("\u0130STANBUL \u0130\u015e", "istanbul i\u015f", "**\u0130STANBUL \u0130\u015e**"),
        ("I\u015eIK", "\u0131\u015f\u0131k", "**I\u015eIK**"),
        ("istanbul", "\u0130stanbul", "**istanbul**"),
        ("qu\u2019il l\u2019a", "qu'il l'a", "**qu\u2019il l\u2019a**"),
        ("\u201eja\u201c", '"ja"', "**\u201eja\u201c**"),
        ("it's", "it\u2019s", "**it's**"),
        ("co\u2011op", "co-op", "**co\u2010op**"),
    ],
)
def test_letters_and_marks_that_keyboards_lack(html: str, keyword: str, text: str) -> None:
    """Turkish capitals, curved quotation marks, the hyphen that breaks no line."""
    assert find(f"<p>{html}</p>", keyword) == [(1, text)]


def test_long_lines_are_shown_around_the_keyword() -> None:
    """200 characters on each side."""
    [(line, text)] = find(f"<p>{'x' * 1_000} needle {'y' * 1_000}</p>", "needle")
    assert line == 1
    assert text == f"…{'x' * 199} **needle** {'y' * 199}…"


@pytest.mark.parametrize(
    ("html", "keyword", "text"),
    [
        ("<p>key&shy;word</p>", "keyword", "**key\u00adword**"),
        ("<p>key\u200b\u2060word</p>", "keyword", "**key\u200b\u2060word**"),
        ("<p>keyword</p>", "key\u00adword", "**keyword**"),
        ("<p>\u202b\u05d0\u05d1\u202c \u05d2</p>", "\u05d0\u05d1 \u05d2", None),
        ("<p>\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645</p>", "\u0645\u06cc\u062e\u0648\u0627\u0647\u0645", None),
    ],
)
def test_characters_that_are_not_shown_do_not_matter(html: str, keyword: str, text: str | None) -> None:
    """Soft hyphens, zero width spaces, joiners, marks of direction; the line is shown as written."""
    [(line, shown)] = find(html, keyword)
    assert line == 1
    assert text is None or shown == text


def test_half_a_surrogate_pair_does_no_harm() -> None:
    """As in a text with ``charset=unicode_escape``."""
    [(line, shown)] = find_keyword(text_lines("\ud800 é\nx"), folded_keyword("É"))
    assert (line, shown) == (1, "? **é**")


def test_words_with_annotations_are_found() -> None:
    ruby = "<ruby>漢<rp>(</rp><rt>かん</rt><rp>)</rp>字<rt>じ</rt></ruby>"
    assert find(f"<p>{ruby}を{ruby}</p><p>次</p>", "漢字を漢") == [(1, "**漢字を漢**字")]


@pytest.mark.parametrize(
    "html",
    [
        "<title>key</title>",
        "<p>x</p><svg><title>key</title></svg>",
        "<dialog>key</dialog>",
        "<math><semantics><mi>x</mi><annotation encoding='application/x-tex'>key</annotation></semantics></math>",
        "<datalist><option>key</option></datalist>",
        "<iframe>key</iframe><noembed>key</noembed><noframes>key</noframes>",
        "<audio>key</audio><video>key</video><canvas>key</canvas>",
        *(f'<p style="{style}">key</p>' for style in ("color:red;DISPLAY :\nnone", "display:none!important")),
        *(f'<p style="{style}">key</p>' for style in ("visibility: hidden", "visibility:collapse;")),
    ],
)
def test_what_browsers_do_not_show_is_not_found(html: str) -> None:
    """By its element or its style."""
    assert find(f"<body><p>a</p>{html}</body>", "key") == []


@pytest.mark.parametrize("style", ["list-style: none", "overflow: hidden", "--display: none", "a-collapse:collapse"])
def test_other_styles_hide_nothing(style: str) -> None:
    """Whatever they have in common with those that do; nor is an open dialog hidden."""
    assert find(f'<p style="{style}">key</p>', "key") == [(1, "**key**")]
    assert find("<dialog open>key</dialog>", "key") == [(1, "**key**")]
