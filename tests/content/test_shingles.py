"""Shingles: how a text is split, and what they depend on."""

from functools import partial

from hypothesis import given, settings
from hypothesis import strategies as st

from crawlproject.content.sketch import LONGEST, hashes_of, summary
from tests.cpu import cpu_seconds

from .texts import words

BLANKS = st.text(" \t\r\n\f\x00", min_size=1, max_size=3)
WORDS = st.text(st.characters(min_codepoint=33, exclude_categories=["Cs"]), min_size=1, max_size=12)


@settings(deadline=None)
@given(st.lists(st.tuples(WORDS, BLANKS), max_size=40), BLANKS)
def test_shingles_are_those_of_the_words(parts: list[tuple[str, str]], start: str) -> None:
    """Independent of position and separators; one for each four words, in order."""
    text = start + "".join(word + blank for word, blank in parts)
    alone = [hashes_of(" ".join(word for word, _ in parts[place : place + 4])) for place in range(len(parts) - 3)]
    assert [[one] for one in hashes_of(text)] == alone


def test_long_texts() -> None:
    """Also with very long words; a text above the limit gets no sketch, at no cost."""
    for text in (" ".join(words(20_000, 3)), "x" * 200_000 + " a b c d", "a \ud800 \x00b\n" * 9_000):
        assert summary(text)[0] > 0
    assert summary("x " * LONGEST)[0] == 0


def test_plain_python_does_not_hold_up_the_crawl() -> None:
    """For any text of the maximum length: below 0.25 s of CPU."""
    for text in ("x " * (LONGEST // 2), "".join(f"{number} " for number in range(50_000))[:LONGEST], "x" * LONGEST):
        assert cpu_seconds(lambda text=text: partial(summary, text)) < 0.25  # type: ignore[misc]


def test_hashes_are_spread() -> None:
    """Over all bins, evenly: 80 of each, give or take five deviations; and all are distinct."""
    hashes = hashes_of(" ".join(words(256 * 80 + 3)))
    assert len(set(hashes)) == len(hashes)
    for shift in (0, 8, 16, 56):
        counts = [0] * 256
        for one in hashes:
            counts[one >> shift & 0xFF] += 1
        assert min(counts) > 35
        assert max(counts) < 125
