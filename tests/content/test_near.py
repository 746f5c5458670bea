"""Near-duplicates among many pages: against comparing with every page, and within bounds of memory."""

from hypothesis import given, settings
from hypothesis import strategies as st

from crawlproject.content import NearDuplicates, PageSketch, similarity

from .texts import page_sketch, text

THRESHOLD = 0.95

#: Few texts, each with few words changed after its heading.
VERSIONS = st.lists(
    st.tuples(st.integers(0, 4), st.lists(st.integers(40, 399), max_size=12, unique=True)), min_size=1, max_size=25
)


def alike(one: PageSketch, other: PageSketch) -> bool:
    same = one.heading == other.heading and one.heading != 0
    return one.text == other.text or (same and similarity(one.bins, other.bins) >= THRESHOLD)


@settings(deadline=None, max_examples=60)
@given(VERSIONS)
def test_as_if_compared_with_every_page(versions: list[tuple[int, list[int]]]) -> None:
    """What is reported is alike; what is alike by far is reported."""
    near = NearDuplicates(100, THRESHOLD)
    kept: dict[str, PageSketch] = {}
    for number, (seed, changed) in enumerate(versions):
        sketch = page_sketch(text(400, seed, tuple(changed)))
        first = near.first_like(str(number), sketch)
        found = {page: other for page, other in kept.items() if alike(sketch, other)}
        if first is None:
            assert all(similarity(sketch.bins, other.bins) < 0.97 for other in found.values())
            kept[str(number)] = sketch
        else:
            assert first in found
            assert similarity(sketch.bins, kept[first].bins) == max(
                similarity(sketch.bins, other.bins) for other in found.values()
            )
    assert len(near) == len(kept)


def test_two_pages_from_one_template_are_not_one() -> None:
    """Equal but for the name of what they describe, which stands in title or first words."""
    near = NearDuplicates(10, THRESHOLD)
    body = text(800)
    assert near.first_like("horse", page_sketch(f"horse {body}", "Animals")) is None
    assert near.first_like("cow", page_sketch(f"cow {body}", "Animals")) is None
    assert near.first_like("wine", page_sketch(f"horse {body} red", "Drinks")) is None
    assert near.first_like("copy", page_sketch(f"horse {body} end", "Animals")) == "horse"


def test_same_text_needs_no_title() -> None:
    """White space and markup aside it is the same page; without a title nothing less will do."""
    near = NearDuplicates(10, THRESHOLD)
    assert near.first_like("a", page_sketch(text(800), None)) is None
    assert near.first_like("b", page_sketch(text(800).replace(" ", "\n"), "b")) == "a"
    assert near.first_like("c", page_sketch(text(800, changed=(500,)), None)) is None


def test_a_page_is_no_copy_of_itself() -> None:
    """Fetched again, changed or not, it is not kept twice; its copies stay copies."""
    near = NearDuplicates(10, THRESHOLD)
    assert near.first_like("a", page_sketch(text(800))) is None
    assert near.first_like("b", page_sketch(text(800, changed=(400,)))) == "a"
    assert near.first_like("a", page_sketch(text(800, changed=(300,)))) is None
    assert near.first_like("b", page_sketch(text(800, changed=(400,)))) == "a"
    assert len(near) == 1


def test_only_the_newest_pages_are_kept() -> None:
    """As many as the capacity says: older ones are forgotten, and memory stays."""
    near = NearDuplicates(4, THRESHOLD)
    sketches = [page_sketch(text(200, seed)) for seed in range(10)]
    assert [near.first_like(str(seed), sketch) for seed, sketch in enumerate(sketches)] == [None] * 10
    assert len(near) == 4
    assert [near.first_like("x", sketches[seed]) for seed in (9, 8, 7, 6)] == ["9", "8", "7", "6"]
    assert near.first_like("x", sketches[0]) is None
