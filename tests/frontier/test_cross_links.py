"""Links between workers: which are sent, and the share of new URLs among them."""

import pytest

from crawlproject.frontier.learning.cross_links import NewShare, links_to_send


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


def test_a_repeated_link_is_sent_ever_more_rarely() -> None:
    """The 1st, 3rd, 9th, ...: each for all since the last one, so that at least a third of the links have arrived."""
    stands_for = [links_to_send(found) for found in range(1, 1000)]
    assert [found for found, count in enumerate(stands_for, 1) if count] == [1, 3, 9, 27, 81, 243, 729]
    assert all(sum(stands_for[:found]) > found / 3 for found in range(1, 1000))
    assert sum(stands_for) == 729
