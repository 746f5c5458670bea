"""The guard on whole sites: every page with new text is fetched, traps cost little."""

from __future__ import annotations

import pytest

from crawlproject.content.page_marks import page_marks
from crawlproject.frontier.guard import judge as guard
from crawlproject.frontier.guard.mark_budget import MarkBudget
from crawlproject.frontier.guard.watched_patterns import GuardLimits
from crawlproject.urls import Canonicalizer, extract
from tests.frontier.guard_walk import ORDERS, Shown, Walk
from tests.generated_sites import REAL, TRAPS, Site

MAX_PAGES = 5000
ROOT = "http://a.example"
CANONICAL = Canonicalizer()
SITES = {**REAL, **TRAPS}


def walk(site: Site, limits: GuardLimits | None, order: str) -> Walk:
    """A walk of the whole site, or of 5,000 pages."""

    def page_of(url: str) -> Shown | None:
        markup = site.render(url.removeprefix(ROOT))
        if markup is None:
            return None
        page = extract(markup.replace("{root}", ROOT), url, with_text=True)
        links = [link for link in CANONICAL.batch(page.hrefs, url) if link is not None]
        return Shown(links, lambda: page_marks(url, page.title, page.text or "", page.media))

    return Walk([ROOT + "/"], page_of, limits, order=order, most=MAX_PAGES)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("name", SITES)
def test_every_page_with_new_text_is_fetched(name: str, order: str) -> None:
    """And of other pages no more than the site's budget; the walk ends."""
    site = SITES[name]
    done = walk(site, GuardLimits(), order)
    real = {CANONICAL.canonical(ROOT + path.replace("{root}", ROOT)) for path in site.real}
    assert real - set(done.fetched) == set()
    assert len(done.fetched) < MAX_PAGES
    if order != "depth":  # depth-first follows each page's last link; no policy does so
        assert len(set(done.fetched) - real) <= site.budget
    assert len(done.fetched) == len(set(done.fetched))


@pytest.mark.parametrize("most", [0, 300])
def test_no_page_is_lost_where_what_pages_showed_is_forgotten(most: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a budget for the marks of no page or of a few, every page with new text is fetched."""
    budget = MarkBudget(most)
    monkeypatch.setattr(guard, "MarkBudget", lambda: budget)
    for site in REAL.values():
        done = walk(site, GuardLimits(), "links")
        real = {CANONICAL.canonical(ROOT + path.replace("{root}", ROOT)) for path in site.real}
        assert real - set(done.fetched) == set()
    assert budget.forgotten > 30
    assert budget.held <= most
