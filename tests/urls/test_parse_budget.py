"""The part of a document that is parsed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlproject.urls.parse_budget import MAX_ATTRIBUTES, affordable_length

from .conftest import PROPERTY

MANY = 20_000
ROWS = "<tr><td>a<td><a href=b>c</a>"

CHEAP = {
    "empty": "",
    "text": "a" * 1_000_000,
    "brackets": "<" * 100_000,
    "flat": "<div>a</div>" * MANY,
    "open cells and paragraphs": "<table>" + ROWS * MANY + "</table>" + "<p>a" * MANY + "<br>" * MANY,
    "drawing": "<svg>" + "<path d='M0 0'/>" * MANY + "</svg>" + "<p>a</p>" * MANY,
    "script": "<script>" + "if (a<b) {c<d} " * MANY + "</script>",
    "comment": "<!--" + "<div>" * MANY + "-->",
    "picture": f"<img src='data:{'A' * 100_000}'><a href=b>",
    "few attributes in a long tag": f"<a title='{'a b ' * 10_000}' href=b>",
}
DEAR = {
    "divs": "<div>" * MANY,
    "unknown elements": "<x>" * MANY,
    "self-closing where nothing closes itself": "<div/>" * MANY,
    "wrong end tags": "<x></y>" * MANY,
    "attributes": "<a " + " ".join(f"a{n}=1" for n in range(MANY)) + ">",
    "prose after a bracket": "a <b " + " ".join(f"word{n}" for n in range(MANY)),
}


@pytest.mark.parametrize("text", CHEAP.values(), ids=CHEAP)
def test_cheap_documents_are_parsed_whole(text):
    """Length alone, or many adjacent elements, cause no cut."""
    assert affordable_length(text) == len(text)


@pytest.mark.parametrize("text", DEAR.values(), ids=DEAR)
def test_dear_documents_are_cut(text):
    """Quadratic documents are cut, and the rest is not quadratic."""
    length = affordable_length(text)
    assert length < len(text)
    assert affordable_length(text[:length]) == length


def test_tree_is_bounded_whatever_makes_it():
    """Reopened elements, attributes, long texts: 15 kB of the first took 180 MB, 75 kB 4.5 GB."""
    reopened = "".join(f"<i id={n}><p>" for n in range(5_000))
    for text in (reopened, "<p>x" * 410_000, "a" * 20_000_000, "<" * 2_000_000, "\0" * 2_000_000):
        assert affordable_length(text) < len(text)
    behind_quotes = ("<p x='>' " + " ".join(f"a{n}" for n in range(900)) + ">") * 900
    assert affordable_length(behind_quotes) < len(behind_quotes)


def test_names_are_bounded():
    """333,000 distinct attribute names took the parser 71 s, within all other bounds."""
    attributes = "".join(f"<p a{n}>" for n in range(42_000))
    quoted = "".join(f"<p a{n}=''b{n}=''>" for n in range(21_000))
    elements = "".join(f"<x{n}></x{n}>" for n in range(42_000))
    for text in (attributes, quoted, elements):
        assert 100_000 < affordable_length(text) < len(text)
    prose = " ".join(f"word{n}" for n in range(100_000))
    assert affordable_length(f"<p>{prose}") == len(f"<p>{prose}")


def test_text_is_bounded_in_utf8():
    """NUL, which the parser makes three bytes, took 26 bytes on its way: 240 MB for 9 million in a title."""
    for text, length in (
        ("\0" * 4_000_000, 1_000_000),
        ("\U0001f4a9" * 4_000_000, 2_250_000),
        ("x" * 9_500_000, 9_000_000),
    ):
        assert abs(affordable_length(text) - length) < 70_000


def test_small_page_makes_a_small_tree():
    """It is parsed on the event loop: 60 kB made a million nodes."""
    text = "".join(f"<i id={n}><li>x" for n in range(3_500))
    assert affordable_length(text) < len(text) / 2


def test_cut_is_before_the_dear_tag():
    """The text before a tag with too many attributes is kept."""
    good = "<p><a href=b>c</a></p>"
    assert affordable_length(f"{good}<x {'a ' * 4 * MAX_ATTRIBUTES}>{good}") == len(good)


@PROPERTY
@given(
    st.lists(st.sampled_from(["<", ">", "<!--", "-->", "<script", "</script", "<div", "/", '"', "=", " ", "a"])).map(
        "".join
    )
)
def test_any_text_has_a_length(text):
    """The length to parse is never more than there is."""
    assert 0 <= affordable_length(text) <= len(text)
