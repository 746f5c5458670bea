"""Words and their hashes: how a text is split, and what a word's hash depends on."""

from functools import partial
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from crawlproject.content.plain_shingles import LONGEST, PIECE, _word_hashes, mixed, summary
from tests.cpu import cpu_seconds

from .texts import words

_BLANK = " \t\r\n\f\x00"
BLANKS = st.text(_BLANK, min_size=1, max_size=3)
WORDS = st.text(st.characters(min_codepoint=33, exclude_categories=["Cs"]), min_size=1, max_size=12)


@settings(deadline=None)
@given(st.lists(st.tuples(WORDS, BLANKS), max_size=40), BLANKS)
def test_a_words_hash_is_its_own(parts: list[tuple[str, str]], start: str) -> None:
    """Independent of position and separators; one per word, in order."""
    text = start + "".join(word + blank for word, blank in parts)
    alone = [_word_hashes(word)[0] for word, _ in parts]
    assert _word_hashes(text) == alone
    assert _word_hashes(text.strip(_BLANK)) == alone


def test_a_long_text_is_hashed_in_pieces_that_end_between_words() -> None:
    """No word is split, so long pages are compared like short ones."""
    parts = words(40_000, 1)
    text = " ".join(parts)
    assert len(text) > 3 * PIECE
    hashes = _word_hashes(text)
    assert len(hashes) == len(parts)
    assert hashes[-100:] == _word_hashes(" ".join(parts[-100:]))


def test_a_word_beyond_all_bounds_costs_no_more_than_its_length() -> None:
    """A word longer than a piece is not used for comparison, and nothing fails."""
    assert len(_word_hashes("x" * (3 * PIECE) + " y")) <= 2
    assert not _word_hashes("")
    assert not _word_hashes(" \n\t ")


def test_long_texts() -> None:
    """Also in pieces, with words longer than a piece; a text above the limit gets no sketch, at no cost."""
    for text in (
        " ".join(words(20_000, 3)),
        "\t".join(words(20_000, 4)),
        "x" * (2 * PIECE + 5) + " a b c d",
        "a \ud800 \x00b\n" * 9_000,
    ):
        assert summary(text)[0] > 0
    assert summary("x " * LONGEST)[0] == 0


def test_plain_python_does_not_hold_up_the_crawl() -> None:
    """For any text of the maximum length: below 0.25 s of CPU."""
    for text in ("x " * (LONGEST // 2), "".join(f"{number} " for number in range(50_000))[:LONGEST], "x" * LONGEST):
        assert cpu_seconds(lambda text=text: partial(summary, text)) < 0.25  # type: ignore[misc]


def test_hashes_are_spread() -> None:
    """Neighbours differ in half of their bits, and all are distinct."""
    values = [0, 1, 2**63, 2**64 - 1, *range(1000, 3000)]
    spread = [mixed(value) for value in values]
    assert len(set(spread)) == len(values)
    differing = [(one ^ other).bit_count() for one, other in pairwise(spread[4:])]
    assert 31 < sum(differing) / len(differing) < 33
