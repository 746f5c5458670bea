"""Limits that the operator changes while the crawl runs, and patterns of URLs."""

import pytest

from crawlproject.frontier import Entry
from crawlproject.frontier.live_limits import EXCLUDE, INCLUDE, LOWER, MAX_PATTERNS, RAISE, LiveLimits, as_pattern
from crawlproject.frontier.queues.sort_key import DEMOTED


def test_an_override_replaces_a_setting_until_it_is_undone() -> None:
    """0 is no limit, also in the place of one."""
    limits = LiveLimits({"pages": 100})
    assert (limits["pages"], limits["depth"]) == (100, 0)
    limits.override("pages", 0)
    limits.override("depth", 3)
    assert (limits["pages"], limits["depth"]) == (0, 3)
    limits.override("pages", None)
    assert limits["pages"] == 100


def test_what_is_refused() -> None:
    """Seeds are not judged by "include"."""
    limits = LiveLimits({})
    assert not limits.has_patterns
    limits.set_pattern(EXCLUDE, "*/calendar/*", on=True)
    limits.set_pattern(INCLUDE, "/docs/", on=True)
    urls = ["http://a.example/docs/", "http://a.example/docs/calendar/1", "http://a.example/"]
    assert [limits.refuses(url) for url in urls] == [False, True, True]
    assert [limits.refuses(url, depth=0) for url in urls] == [False, True, False]
    limits.set_pattern(EXCLUDE, "*/calendar/*", on=False)
    limits.set_pattern(INCLUDE, "/docs/", on=False)
    assert not limits.has_patterns
    assert not any(map(limits.refuses, urls))


def test_raised_once_however_often_it_is_looked_at() -> None:
    """And as before when it is undone; what the guard, or a spider, has placed stays."""
    limits, entry = LiveLimits({}), Entry("http://a.example/x", 2.0)
    limits.set_pattern(RAISE, "*x", on=True)
    raised = limits.placed(entry)
    assert raised.quality == 20.0
    assert limits.placed(raised) is raised
    limits.set_pattern(RAISE, "*x", on=False)
    limits.set_pattern(LOWER, "*x", on=True)
    assert limits.placed(raised).quality == pytest.approx(0.2)
    limits.set_pattern(LOWER, "*x", on=False)
    assert limits.placed(raised) == entry
    for priority in (DEMOTED, 7):
        other = entry._replace(priority=priority)
        assert limits.placed(other) is other


def test_wrong_patterns_change_nothing() -> None:
    """One that cannot be read, and too many."""
    limits = LiveLimits({})
    with pytest.raises(ValueError, match="begins with"):
        limits.set_pattern(EXCLUDE, "x", on=True)
    for number in range(MAX_PATTERNS):
        limits.set_pattern(EXCLUDE, f"/{number}/", on=True)
    with pytest.raises(ValueError, match="at most"):
        limits.set_pattern(EXCLUDE, "/more/", on=True)
    assert not limits.refuses("http://a.example/more/")


@pytest.mark.parametrize(("text", "pattern"), [("blog", "*blog*"), (" /blog ", "/blog"), ("re:x+", "re:x+")])
def test_what_a_person_means(text: str, pattern: str) -> None:
    assert as_pattern(text) == pattern
