"""The share of new URLs among the links that workers send each other."""

import pytest

from crawlproject.frontier.learning.new_share import NewShare


def test_the_share_of_new_urls_is_learned() -> None:
    """1 before anything is known; what is old counts less."""
    share = NewShare()
    assert share.value == 1.0
    share.learn(9, 4)
    assert share.value == pytest.approx(0.5, abs=0.01)
    for _ in range(100):
        share.learn(100, 10)
    assert share.value == pytest.approx(0.1, abs=0.01)
    share.learn(0, 0)
    assert 0 < share.value < 1
