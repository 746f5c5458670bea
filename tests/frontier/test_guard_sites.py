"""The guard on whole sites: every page with new text is fetched, traps cost little."""

from __future__ import annotations

from functools import cache

import pytest

from crawlproject.frontier.guard import judge as guard
from crawlproject.frontier.guard.patterns import GuardLimits, MarkBudget
from crawlproject.urls import Canonicalizer
from tests.frontier.guard_walk import ORDERS, Walk, shown_by
from tests.generated_sites import REAL, TRAPS, Site

#: Requests beyond a site's real pages.
MOST_BEYOND = 300
MAX_PAGES = 5000
ROOT = "http://a.example"
CANONICAL = Canonicalizer()


#: What each page shows: the same in every walk, and two fifths of the CPU time of one.
PAGES = {name: cache(shown_by(site.render, ROOT)) for name, site in {**REAL, **TRAPS}.items()}


def walk(name: str, order: str) -> Walk:
    """A walk of the whole site, or of 5,000 requests."""
    return Walk([ROOT + "/"], PAGES[name], GuardLimits(), order=order, most=MAX_PAGES)


def real_pages(site: Site) -> set[str | None]:
    """The canonical URLs of its real pages."""
    return {CANONICAL.canonical(ROOT + path.replace("{root}", ROOT)) for path in site.real}


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", REAL)
def test_nothing_real_is_lost(name: str, order: str) -> None:
    """In any order."""
    assert real_pages(REAL[name]) - set(walk(name, order).fetched) == set()


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", TRAPS)
def test_a_trap_costs_little(name: str, order: str) -> None:
    """Nothing real is lost, and at most 300 requests go beyond it."""
    done, real = walk(name, order), real_pages(TRAPS[name])
    assert real - set(done.fetched) == set()
    if order != "depth":  # depth-first follows each page's last link; no policy does so
        assert done.requests - len(real) <= MOST_BEYOND


@pytest.mark.parametrize("most", [0, 300])
def test_no_page_is_lost_where_what_pages_showed_is_forgotten(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a budget for the marks of no page or of a few, every page with new text is fetched."""
    budget = MarkBudget(most)
    monkeypatch.setattr(guard, "MarkBudget", lambda: budget)
    for name, site in REAL.items():
        assert real_pages(site) - set(walk(name, "links").fetched) == set()
    assert budget.held <= most
