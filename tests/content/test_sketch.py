"""Shingles and sketches: the estimate compared with the true Jaccard coefficient of word sets."""

import string
from functools import partial
from math import sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlproject.content.sketch import FEW_WORDS, LONGEST, MIN_SHINGLES, PageSketch, hashes_of, similarity, summary
from tests.cpu import cpu_seconds

from .texts import jaccard, page_sketch, shingles, text, words

PROPERTY = settings(deadline=None, max_examples=30)
WORDS = st.lists(st.sampled_from(string.ascii_lowercase[:6]), max_size=60)


def shingle_set(parts: list[str]) -> set[tuple[str, ...]]:
    """Every four consecutive words, unhashed."""
    return {tuple(parts[place : place + 4]) for place in range(len(parts) - 3)}


@PROPERTY
@given(WORDS, WORDS)
def test_jaccard_is_that_of_the_sets_of_shingles(one: list[str], other: list[str]) -> None:
    """Hashing and combining words changes nothing."""
    texts = ["  \n".join(parts) for parts in (one, other)]
    sets = [shingle_set(parts) for parts in (one, other)]
    assert [len(shingles(text)) for text in texts] == [len(each) for each in sets]
    together = sets[0] | sets[1]
    assert jaccard(*texts) == pytest.approx(len(sets[0] & sets[1]) / len(together) if together else 1.0)


@PROPERTY
@given(st.integers(0, 1500), st.integers(0, 1500), st.integers(0, 1500), st.integers(0, 2**32))
def test_estimate_is_near_the_true_coefficient(shared: int, one: int, other: int, seed: int) -> None:
    """Within 4.5 standard deviations of 256 draws, which is exceeded by chance once in 150,000 times.

    Two more bins may agree or differ by chance, because bins keep 15 bits.
    """
    parts = words(shared + one + other, seed)
    pages = [" ".join(parts[: shared + one]), " ".join(parts[:shared] + parts[shared + one :])]
    truth = jaccard(*pages)
    bins = [summary(page)[1] for page in pages]
    used = sum(1 for pair in zip(*(memoryview(each).cast("H") for each in bins), strict=True) if any(pair))
    deviation = sqrt(truth * (1 - truth) / max(1, used))
    assert abs(similarity(*bins) - truth) <= 4.5 * deviation + 1e-9 + 2 / max(2, used) * (truth < 1)


def test_short_pages_are_not_judged() -> None:
    """Fewer shingles than ``MIN_SHINGLES``: no sketch."""
    assert PageSketch.of("t", text(MIN_SHINGLES + 2)) is None
    assert PageSketch.of("t", text(MIN_SHINGLES + 3)) is not None


def test_dates_and_versions_do_not_count_in_the_first_words() -> None:
    """They do not make another page; a word or a plain number does; without a title there is no heading."""
    body = text()
    first = page_sketch(f"News 12 of 2024-05-01, 1.2 (2024) {body}", "Manual").heading
    assert page_sketch(f"News 12 of 2025-06-11, 1.3 (2025) {body}", "Manual").heading == first
    assert page_sketch(f"News 13 of 2024-05-01, 1.2 (2024) {body}", "Manual").heading != first
    assert page_sketch(f"Notes 12 of 2024-05-01, 1.2 (2024) {body}", "Manual").heading != first
    assert page_sketch(body, None).heading == 0


@pytest.mark.parametrize(("one", "other"), [("Image 12", "Image 13"), ("Manual 1.2", "Manual 1.3"), ("IMG_7", "IMG_8")])
def test_numbers_in_titles_count(one: str, other: str) -> None:
    """Even if all words of the text are equal."""
    sketches = [page_sketch(text(), title) for title in (one, other)]
    assert sketches[0].heading != sketches[1].heading
    assert sketches[0].title != sketches[1].title


def test_pictures_count_on_a_page_of_few_words() -> None:
    """An album's pages have the same words; on other pages, images are advertisements."""
    for count, differ in ((FEW_WORDS // 2, True), (2 * FEW_WORDS, False)):
        one, other = (PageSketch.of("Album", text(count), pictures) for pictures in ("1.jpg", "2.jpg"))
        assert one is not None
        assert other is not None
        assert (one.heading != other.heading, one.text != other.text) == (differ, differ)


def test_long_texts() -> None:
    """Also with very long words; a text above the limit gets no sketch, at no cost."""
    for long in (" ".join(words(20_000, 3)), "x" * 200_000 + " a b c d", "a \ud800 \x00b\n" * 9_000):
        assert summary(long)[0] > 0
    assert summary("x " * LONGEST)[0] == 0


def test_plain_python_does_not_hold_up_the_crawl() -> None:
    """For any text of the maximum length: below 0.25 s of CPU."""
    for long in ("x " * (LONGEST // 2), "".join(f"{number} " for number in range(50_000))[:LONGEST], "x" * LONGEST):
        assert cpu_seconds(lambda long=long: partial(summary, long)) < 0.25  # type: ignore[misc]


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
