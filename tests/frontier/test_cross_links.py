"""Links between workers: which are sent, and the share of new URLs among them."""

import pytest

from crawlproject.frontier.learning.cross_links import SENT_SHARE, CrossLinks, NewShare


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


def sent(links: CrossLinks, times: int) -> list[int]:
    """What each of so many links to a new URL is sent for."""
    state, counts = 0, []
    for _ in range(times):
        state, count = links.found(state)
        counts.append(count)
    return counts


def rich() -> CrossLinks:
    """After many links that were not sent."""
    links = CrossLinks()
    sent(links, 10_000)
    return links


def test_a_repeated_link_is_sent_ever_more_rarely() -> None:
    """The 1st, 3rd, 9th, ...: each for all since the last one, so that at least a third of the links have arrived."""
    stands_for = sent(rich(), 999)
    assert [found for found, count in enumerate(stands_for, 1) if count] == [1, 3, 9, 27, 81, 243, 729]
    assert all(sum(stands_for[:found]) > found / 3 for found in range(1, 1000))
    assert sum(stands_for) == 729


def test_repeated_links_take_what_the_first_ones_leave() -> None:
    """Each first link is sent; no more than the share if these are fewer."""
    links = CrossLinks()
    assert [links.found(0)[1] for _ in range(100)] == [1] * 100
    assert sum(sent(links, 200)) == 1  # a third of 300 was sent already
    links, total, messages = CrossLinks(), 0, 0
    for _ in range(100):  # 4 links to each URL: a quarter are the first ones
        counts = sent(links, 4)
        assert counts[0] == 1
        total, messages = total + len(counts), messages + sum(map(bool, counts))
    assert 0.25 < messages / total <= SENT_SHARE
