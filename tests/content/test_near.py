"""Near-duplicates among many pages: compared with exhaustive comparison, and within bounds of memory."""

from random import Random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from crawlproject.content import near as near_module
from crawlproject.content.near import NearDuplicates, _keys
from crawlproject.content.sketch import BINS, PageSketch, similarity

from .texts import page_sketch, text

THRESHOLD = 0.95

#: Few texts, each with few words changed after its heading.
VERSIONS = st.lists(
    st.tuples(st.integers(0, 4), st.lists(st.integers(40, 399), max_size=12, unique=True)), min_size=1, max_size=25
)


def likeness(one: PageSketch, other: PageSketch) -> float:
    if one.text == other.text and (one.title == other.title or 0 in (one.title, other.title)):
        return 1.0
    return similarity(one.bins, other.bins) if one.heading == other.heading != 0 else 0.0


@settings(deadline=None, max_examples=30)
@given(VERSIONS)
@example([(0, []), (0, [42, 130, 131]), (0, [55, 294, 352]), (0, [101]), (0, [138])])
def test_the_most_alike_of_the_newest_page_of_each_cell(versions: list[tuple[int, list[int]]]) -> None:
    """What is reported is alike; what is alike is reported where it is the newest page of a cell of the other's.

    In the example the last text has a similarity of 0.97 to the first, which other versions have displaced from all
    cells of both.
    """
    near = NearDuplicates(100, THRESHOLD)
    kept: dict[str, PageSketch] = {}
    newest: dict[tuple[int, int], str] = {}
    for number, (seed, changed) in enumerate(versions):
        sketch = page_sketch(text(400, seed, tuple(changed)))
        keys = _keys(sketch)
        cells = [(number, key % len(near._tables[number])) for number, key in enumerate(keys)]
        met = {newest[cell]: likeness(sketch, kept[newest[cell]]) for cell in cells if cell in newest}
        first = near.first_like(str(number), sketch)
        if first is None:
            assert max(met.values(), default=0.0) < THRESHOLD
            kept[str(number)] = sketch
            newest |= dict.fromkeys(cells, str(number))
        else:
            assert met[first] == max(met.values()) >= THRESHOLD
    assert len(near) == len(kept)


def test_two_pages_from_one_template_are_not_one() -> None:
    """Equal except for the name of their subject, which is in the title or the first words."""
    near = NearDuplicates(10, THRESHOLD)
    body = text(800)
    assert near.first_like("horse", page_sketch(f"horse {body}", "Animals")) is None
    assert near.first_like("cow", page_sketch(f"cow {body}", "Animals")) is None
    assert near.first_like("wine", page_sketch(f"horse {body} red", "Drinks")) is None
    assert near.first_like("copy", page_sketch(f"horse {body} end", "Animals")) == "horse"


def test_same_text_needs_no_title() -> None:
    """Apart from white space and markup it is the same page; without a title, only equal text counts."""
    near = NearDuplicates(10, THRESHOLD)
    assert near.first_like("a", page_sketch(text(800), None)) is None
    assert near.first_like("b", page_sketch(text(800).replace(" ", "\n"), "b")) == "a"
    assert near.first_like("c", page_sketch(text(800, changed=(500,)), None)) is None
    for title in ("Image 12", "Image 13", "Tag: cats"):  # the same text under another title is another page
        assert near.first_like(title, page_sketch(text(800, 1), title)) is None
    assert near.first_like("again", page_sketch(text(800, 1), "Tag: cats")) == "Tag: cats"


def test_a_page_is_no_copy_of_itself() -> None:
    """Fetched again, changed or not, it is not kept twice; its copies remain copies."""
    near = NearDuplicates(10, THRESHOLD)
    assert near.first_like("a", page_sketch(text(800))) is None
    assert near.first_like("b", page_sketch(text(800, changed=(400,)))) == "a"
    assert near.first_like("a", page_sketch(text(800, changed=(300,)))) is None
    assert near.first_like("b", page_sketch(text(800, changed=(400,)))) == "a"
    assert len(near) == 1


def test_only_the_newest_pages_are_kept() -> None:
    """As many as the capacity: older pages are evicted, and memory is constant."""
    near = NearDuplicates(4, THRESHOLD)
    sketches = [page_sketch(text(200, seed)) for seed in range(10)]
    assert [near.first_like(str(seed), sketch) for seed, sketch in enumerate(sketches)] == [None] * 10
    assert len(near) == 4
    assert [near.first_like("x", sketches[seed]) for seed in (9, 8, 7, 6)] == ["9", "8", "7", "6"]
    assert near.first_like("x", sketches[0]) is None


def test_tables_grow_with_the_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are small at first, have two cells for each page, and hold what tables of that size from the start would."""
    random = Random(1)
    sketches = [PageSketch(random.randbytes(2 * BINS), number % 7, number, number) for number in range(1, 2000)]
    monkeypatch.setattr(near_module, "_FIRST_CELLS", 256)
    growing = NearDuplicates(10_000, THRESHOLD)
    assert [len(table) for table in growing._tables] == [256] * 17
    monkeypatch.setattr(near_module, "_FIRST_CELLS", 256 * near_module._GROWTH)
    grown = NearDuplicates(10_000, THRESHOLD)
    for number, sketch in enumerate(sketches):
        assert growing.first_like(str(number), sketch) is None
        assert all(2 * (len(growing) - 18) <= len(table) for table in growing._tables)
        if number < 500:
            assert grown.first_like(str(number), sketch) is None
        if number == 499:
            assert growing._tables == grown._tables
    assert [growing.first_like("copy", sketch) for sketch in sketches] == [str(n) for n in range(len(sketches))]
