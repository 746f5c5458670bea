"""Families of URLs that are other names of known pages: what is evidence, and what is not."""

from __future__ import annotations

from crawlproject.frontier.guard.other_names import MAX_FAMILIES, Family, OtherNames

SITE = "http://a.example"


def learn(names: OtherNames, path: str, canonical: str | None = None, first: str | None = None) -> bool:
    """Learn from the page at ``path``."""
    return names.learn(SITE + path, canonical and SITE + canonical, first and SITE + first)


def permalinks(names: OtherNames, count: int = 20) -> list[int]:
    """Permalinks of posts after the topics that they show; those with which their family is recognized."""
    return [n for n in range(count) if learn(names, f"/t?post={n}", f"/t?id={n % 3}", f"/t?id={n % 3}")]


def test_permalinks_are_other_names_of_topics() -> None:
    """With the tenth; topics and their further pages are not."""
    names = OtherNames()
    learn(names, "/t?id=1")
    assert permalinks(names) == [Family.MIN_DECLARED - 1]
    assert SITE + "/t?post=99" in names
    assert SITE + "/t?id=99" not in names
    assert SITE + "/t?id=9&p=2" not in names
    assert names.copies == 20


def test_permalinks_read_before_their_topics() -> None:
    """Then the topics are the copies; names and numbers in the values tell the two families apart."""
    names = OtherNames()
    for n in range(30):
        learn(
            names,
            f"/?topic={n // 3}.msg{n}",
            f"/?topic={n // 3}.0",
            f"/?topic={n // 3}.msg{n // 3 * 3}" if n % 3 else None,
        )
    assert SITE + "/?topic=9.msg99" not in names  # equal to each other only
    found = [n for n in range(10) if learn(names, f"/?topic={n}.0", None, f"/?topic={n}.msg{3 * n}")]
    assert found == [Family.MIN_CONFIRMED - 1]
    assert SITE + "/?topic=9.msg99" in names
    assert SITE + "/?topic=9.15" not in names


def test_a_wrong_canonical_link_is_no_evidence() -> None:
    """All pages name the home page, or the first page of a list, or a page that does not exist."""
    names = OtherNames()
    for n in range(50):
        learn(names, f"/article/{n}", "/")
        learn(names, f"/file/{n}.jpg", "/", f"/file/{n - 1}.jpg")  # they look alike
        learn(names, f"/list?page={n}", "/list")
        learn(names, f"/print/{n}", f"/missing/{n}", "/print/0")
    assert not any(SITE + path in names for path in ("/article/1", "/file/1.jpg", "/list?page=1", "/print/1"))


def test_pages_that_lead_to_others_keep_their_place() -> None:
    """Pages of a list may look like its first page, and be the only way to what they list."""
    names = OtherNames()
    for n in range(50):
        learn(names, f"/list?page={n}", "/list", "/list")
        new = [f"{SITE}/list?page={n + 1}", f"{SITE}/item/{n}"]
        names.learn_new(f"{SITE}/list?page={n}", f"{SITE}/list", new, is_copy=True)
    assert SITE + "/list?page=9" not in names


def test_pages_that_are_the_only_way_to_their_originals_keep_their_place() -> None:
    """A shop's lists link to products by another name."""
    names = OtherNames()
    for n in range(50):
        learn(names, f"/p?list=1&id={n}", f"/p?id={n}", f"/p?list=2&id={n}" if n % 2 else f"/p?id={n}")
        names.learn_new(f"{SITE}/p?list=1&id={n}", f"{SITE}/p?id={n}", [f"{SITE}/p?id={n}"], is_copy=False)
        learn(names, f"/p?id={n}", None, f"/p?list=1&id={n}")
    assert SITE + "/p?list=1&id=9" not in names


def test_pages_that_name_themselves_keep_their_family_in_its_place() -> None:
    """One in ten may."""
    names = OtherNames()
    for n in range(3):
        learn(names, f"/t?post={n}", f"/t?id={n}", f"/t?id={n}")
        learn(names, f"/t?post={n}")
    assert permalinks(names, 26) == []
    assert permalinks(names, 2) == [0]


def test_two_families_that_name_each_other_are_not_both_last() -> None:
    """Nor are pages in a circle of names."""
    names = OtherNames()
    for n in range(50):
        for here, there in (("a", "b"), ("b", "c"), ("c", "a")):
            learn(names, f"/{here}/{n}", f"/{there}/{n}", f"/{there}/{n}")
    assert not all(f"{SITE}/{family}/1" in names for family in "abc")


def test_families_are_limited() -> None:
    """The one with the most pages stays."""
    names = OtherNames()
    permalinks(names)
    for n in range(MAX_FAMILIES + 10):
        learn(names, f"/{'x' * n}?post={n}", "/")
    assert len(names.to_state()) == MAX_FAMILIES
    assert SITE + "/t?post=99" in names
