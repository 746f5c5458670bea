"""Distinguishes parameters that are new on each visit from those that select a page."""

from __future__ import annotations

import pytest

from crawlproject.frontier.guard.visit_ids import VisitIds, may_have_id
from crawlproject.urls.drop_params import DropRules

HOME = "http://a.example/"


def links(query: str) -> list[str]:
    return [f"{HOME}{name}{query}" for name in ("one", "two", "three")]


@pytest.mark.parametrize("form", ["?visit={}", "?x=1&visit={}", ";visit={}"])
def test_ids_that_change_with_each_visit_are_learned(form: str) -> None:
    """From the second page on whose links have another id than its URL."""
    ids = VisitIds()
    pages = [HOME + "p" + form.format(f"{n}a3f09c2b7d") for n in range(4)]
    assert ids.observe(pages[0], links(form.format("5a3f09c2b7d"))) == []
    assert ids.observe(pages[1], links(form.format("6a3f09c2b7d"))) == [pages[0], pages[1]]
    assert ids.learned == ["visit"]
    assert DropRules.of_names(ids.learned).strip_url(pages[2]) == HOME + "p" + ("?x=1" if "x=1" in form else "")
    assert ids.observe(pages[3], links(form.format("7a3f09c2b7d"))) == []


@pytest.mark.parametrize(
    "shown",
    [
        links("?forum=0a3f09c2b7d"),  # the page's own: it leads there
        [*links("?forum=1a3f09c2b7d"), *links("?forum=2a3f09c2b7d")],  # several
        links("?forum=sports"),
    ],
)
def test_parameters_that_lead_somewhere_are_cleared_for_good(shown: list[str]) -> None:
    """Whatever later pages show."""
    ids = VisitIds()
    ids.observe(HOME + "?forum=0a3f09c2b7d", shown)
    for n in range(3):
        ids.observe(f"{HOME}?forum={n}a3f09c2b7d", links(f"?forum={n + 5}a3f09c2b7d"))
    assert (ids.learned, ids.cleared) == ([], ["forum"])


@pytest.mark.parametrize("shown", [[], links(""), links("?visit=8a3f09c2b7d")[:1]])
def test_few_links_prove_nothing(shown: list[str]) -> None:
    """One link with another value may be the link to the next page."""
    ids = VisitIds()
    for n in range(5):
        ids.observe(f"{HOME}?visit={n}a3f09c2b7d", shown)
    assert (ids.learned, ids.cleared) == ([], [])


def test_the_same_id_on_all_pages_proves_nothing() -> None:
    """It is equal for every visitor."""
    ids = VisitIds()
    for n in range(5):
        ids.observe(f"{HOME}?visit={n}a3f09c2b7d", links("?visit=8a3f09c2b7d"))
    assert ids.learned == []


def test_only_what_looks_like_an_id_is_looked_at() -> None:
    """At least eight characters with a digit."""
    assert [may_have_id(HOME + each) for each in ("", "?page=2", "?visit=0a3f09c2", ";s=0a3f09c2")] == [
        *(False, False, True, True)
    ]
    ids = VisitIds()
    for value in ("sports", "politics", "abcdefghij"):
        ids.observe(f"{HOME}?forum={value}", links("?forum=a1b2c3d4e5"))
    assert ids.learned == []
