"""What a project's own quality returns."""

import logging
from typing import Any

import pytest
from scrapy.utils.test import get_crawler

from crawlproject.discovery.checked_quality import checked
from crawlproject.frontier.quality import InLinks, link_gains

URL = "http://a.example/"


class Answers:
    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def quality(self, url: str, depth: int) -> float:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer  # type: ignore[no-any-return]


class Gains(Answers):
    def gain(self, page_quality: float, links: int, *, internal: bool) -> float:
        return self.quality("", 0)


@pytest.mark.parametrize("answer", [0, 0.5, 7, True, 3e38])
def test_a_number_is_what_it_is(answer: float) -> None:
    stats = get_crawler().stats
    assert checked(Gains(answer), stats).quality(URL, 1) == answer
    assert link_gains(checked(Gains(answer), stats), 1.0, 3) == (answer, answer)
    assert stats.get_stats() == {}


@pytest.mark.parametrize(
    "answer", [-1, -1e-9, float("nan"), float("inf"), -float("inf"), 1e39, 10**400, None, "much", [1], KeyError("/")]
)
def test_anything_else_counts_as_nothing(answer: Any, caplog: pytest.LogCaptureFixture) -> None:
    """One stat for each, and one line for some."""
    stats = get_crawler().stats
    quality = checked(Gains(answer), stats)
    with caplog.at_level(logging.INFO):
        assert [quality.quality(URL, 1) for _ in range(100)] == [0.0] * 100
        assert link_gains(quality, 1.0, 3) == (0.0, 0.0)
    assert stats.get_value("frontier/quality/invalid") == 102
    lines = [record.getMessage() for record in caplog.records if record.name == checked.__module__]
    assert 0 < len(lines) <= 10
    assert lines[0].startswith("FRONTIER_QUALITY: Answers.quality('http://a.example/', 1): ")
    assert max(map(len, lines)) < 500


def test_qualities_of_this_package_are_not_checked() -> None:
    """They are called for each link."""
    quality = InLinks()
    assert checked(quality, get_crawler().stats) is quality
