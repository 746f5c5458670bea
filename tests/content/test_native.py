"""What is compiled to C computes what Python does: shingles of any text."""

from collections.abc import Callable
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlproject.content import sketch
from crawlproject.content.sketch import LONGEST
from crawlproject.urls.extract import SEPARATOR
from crawlproject.urls.native import compiled
from tests.cpu import cpu_seconds

from .texts import words

SHINGLES = compiled("shingles")
if SHINGLES is None:
    pytest.skip("crawlproject/urls/native is not compiled: scripts/install", allow_module_level=True)

#: All there are: the last one is U+3000.
SPACES = [*filter(str.isspace, map(chr, range(0x3001)))]
#: What words, numbers and pieces are made of, and what separates them.
TOKENS = [
    *(SEPARATOR, SEPARATOR, *SPACES, "\0", "\x7f", "\ud800", "\udfff"),
    *("a", "bc", "may", "monday", "a1", "1a", "é", "É", "İ", "ſ", "会议", "A", "\U0001f600", "x" * 40),
    *("1", "0", "99", "100", "999", "1000", "2999", "3000", "12345", "1.5", "31.12.2020", "1,000.50", "1.2.3.4"),
    *(".", ",", ":", "/", "-", "_", "<", "'"),
]
TEXTS = st.lists(st.sampled_from(TOKENS) | st.text(st.characters(exclude_categories=()), max_size=6), max_size=40)


SIZE = 1 << 18
#: Long texts, by name.
HOSTILE: dict[str, Callable[[], str]] = {
    "one word": lambda: "x" * (1 << 20),
    "distinct words": lambda: " ".join(words(SIZE // 9)),
    "NULs": lambda: "\0" * SIZE,
    "not ASCII": lambda: "é1 " * (SIZE // 3),
    "mixed": lambda: "".join(Random(1).choices(TOKENS, k=SIZE // 8)),
}


@given(TEXTS.map("".join))
def test_shingles_are_those_of_python(text: str) -> None:
    """Number, bins and sum."""
    assert SHINGLES.summary(text) == sketch.summary(text)


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts(name: str) -> None:
    """The same results, and no text holds up the crawl."""
    text = HOSTILE[name]()
    short = text[:LONGEST]
    assert SHINGLES.summary(short) == sketch.summary(short)


def test_shingles_of_a_text_of_five_megabytes_take_no_time() -> None:
    """Python gives up before: all of such a text is read here."""
    text = "word by word " * 400_000
    assert SHINGLES.summary(text)[0] == 3 * 400_000 - 3
    assert cpu_seconds(lambda: lambda: SHINGLES.summary(text)) < 0.25
