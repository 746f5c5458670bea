"""Parts of addresses that do not change the page."""

import pytest

from crawlproject.frontier.guard.idle_parts import MAX_PAGES, MAX_PARTS, VERSION, IdleParts

SITE = "http://a.example"
COPIES = IdleParts.MIN_COPIES


def shown(text: object) -> int:
    """What a page shows."""
    return hash(text) & 0xFFFFFFFF


def taught(*forms: str, copies: int = COPIES) -> IdleParts:
    """After so many pages ``/p/N`` and their copies at each of ``forms``."""
    parts = IdleParts()
    for number in range(copies):
        url = f"{SITE}/d/p-{number}x"
        parts.learn(url, None, is_page=True, shown=lambda n=number: shown(n))  # type: ignore[misc]
        for form in forms:
            other = SITE + form.format(n=f"p-{number}x", id=f"a{number}b2c3d4e5")
            parts.learn(other, url, is_page=True, shown=lambda n=number: shown(n))  # type: ignore[misc]
    return parts


@pytest.mark.parametrize(
    ("form", "url", "without"),
    [
        ("/d/{n}?print=1", "/d/z?print=1", "/d/z"),
        ("/d/{n}?sid={id}", "/q?a=1&sid=zz&b=2", "/q?a=1&b=2"),
        ("/d/{n};sid={id}", "/d/z;sid=11?a=1", "/d/z?a=1"),
        ("/{id}/d/{n}", "/77aabbcc11/d/z", "/d/z"),
        ("/d/{n}/raw", "/d/z/raw", "/d/z"),
        ("/d/{n}.ics", "/d/z.ics", "/d/z"),
    ],
)
def test_a_part_that_copies_show_to_be_idle(form: str, url: str, without: str) -> None:
    """After six copies, not after five."""
    assert taught(form, copies=COPIES - 1).is_empty
    parts = taught(form)
    assert not parts.is_empty
    assert parts.without(SITE + url) == SITE + without
    assert parts.is_version(SITE + url, (SITE + without).__eq__)
    assert not parts.is_version(SITE + url, lambda _: False)


@pytest.mark.parametrize(
    "form", ["/schedule?date=2026-01-{n:02}", "/table?row={n}", "/room/{n}?day={n}", "/t?d=x{n}y{n}"]
)
def test_equal_records_show_nothing_of_the_parameter_that_selects_them(form: str) -> None:
    """Most days have no events."""
    parts = IdleParts()
    for number in range(1, 4 * COPIES):
        parts.learn(SITE + form.format(n=number), None, is_page=True, shown=lambda: shown("no events"))
    assert parts.is_empty


def test_several_parts_at_once() -> None:
    """All are left out."""
    parts = taught("/d/{n}?print=1", "/d/{n}?sid={id}")
    assert parts.without(f"{SITE}/x?sid=9&a=1&print=1") == f"{SITE}/x?a=1"


def test_an_id_as_the_last_segment_is_that_of_a_page() -> None:
    """It is never left out."""
    assert taught("/d/{id}/{n}").without(f"{SITE}/d/77aabbcc11") == f"{SITE}/d/77aabbcc11"


def test_a_part_that_pages_refute_is_not_idle() -> None:
    """Pages that show something else than the page without it."""
    parts = taught("/d/{n}?view=1")
    for number in range(COPIES):
        url = f"{SITE}/e/{number}"
        parts.learn(url, None, is_page=True, shown=lambda n=number: shown(("e", n)))  # type: ignore[misc]
        parts.learn(f"{url}?view=1", None, is_page=True, shown=lambda n=number: shown(("v", n)))  # type: ignore[misc]
    assert parts.is_empty


def test_of_several_versions_the_first_is_none() -> None:
    """It may be the only address of its page."""
    parts, seen = taught("/d/{n}?print=1"), set[str]()
    is_version = parts.sorter(seen.__contains__, seen.add)
    urls = [f"{SITE}/new?print=1", f"{SITE}/new?print=2", f"{SITE}/plain"]
    assert [is_version(url) for url in urls] == [False, True, False]
    assert seen == {f"{SITE}/new{VERSION}"}


def test_memory_is_bounded() -> None:
    """However many parts and pages a server has."""
    parts = IdleParts()
    for number in range(3 * MAX_PARTS):
        for page in range(12):
            url = f"{SITE}/d/{page}?p{number}=1&q{number}=2"
            parts.learn(url, f"{SITE}/d/{page}", is_page=True, shown=lambda: 1)
    state = parts.to_state()
    assert len(state["parts"]) <= MAX_PARTS
    assert len(state["pages"]) <= 4 * (4 * MAX_PAGES // 3 + 1)
