"""Mirrors: servers with many equal pages in equal places."""

from crawlproject.content import Mirrors
from crawlproject.content.mirrors import LEAST_PAGES


def crawl(mirrors: Mirrors, server: str, first: str, copies: int, own: int = 0) -> list[str]:
    """Pages of ``server``: copies of those of ``first``, then its own; what is demoted."""
    demoted = []
    for _ in range(copies):
        mirrors.met(server, copy=True)
        demoted.append(mirrors.met_in_place(server, first))
    for _ in range(own):
        mirrors.met(server, copy=False)
    return [found for found in demoted if found is not None]


def original(pages: int) -> Mirrors:
    """A server ``a`` with pages of its own."""
    mirrors = Mirrors()
    crawl(mirrors, "a", "a", 0, own=pages)
    return mirrors


def test_the_later_server_is_demoted_once() -> None:
    """When it has enough equal pages, and not again."""
    assert crawl(original(100), "b", "a", LEAST_PAGES - 1) == []
    assert crawl(original(100), "b", "a", 3 * LEAST_PAGES) == ["b"]


def test_few_equal_pages_of_many_are_no_mirror() -> None:
    """Twenty of a hundred say nothing."""
    mirrors = original(100)
    crawl(mirrors, "b", "a", 0, own=80)
    assert crawl(mirrors, "b", "a", LEAST_PAGES) == []


def test_the_smaller_one_counts() -> None:
    """A server of which little has been fetched yet, all of it known, is a mirror of the large one, and the other way
    round: the one with more copies is demoted."""
    mirrors = Mirrors()
    crawl(mirrors, "b", "b", 0, own=LEAST_PAGES)
    assert crawl(mirrors, "a", "b", LEAST_PAGES, own=500) == ["a"]


def test_crawled_side_by_side() -> None:
    """Some pages come first from the one, some from the other: together they are enough."""
    mirrors = Mirrors()
    for number in range(LEAST_PAGES):
        server, first = ("a", "b") if number % 3 else ("b", "a")
        mirrors.met(first, copy=False)
        mirrors.met(server, copy=True)
        demoted = mirrors.met_in_place(server, first)
        assert demoted == ("a" if number == LEAST_PAGES - 1 else None)


def test_a_third_mirror_is_demoted_too() -> None:
    """All but the one that had the pages first."""
    mirrors = original(100)
    assert crawl(mirrors, "b", "a", 50) + crawl(mirrors, "c", "a", 50) == ["b", "c"]


def test_mostly_copies() -> None:
    """More than half of enough pages."""
    mirrors = Mirrors()
    crawl(mirrors, "b", "a", 15, own=4)
    assert not mirrors.has_mostly_copies("b")
    crawl(mirrors, "b", "a", 1)
    assert mirrors.has_mostly_copies("b")
    crawl(mirrors, "b", "a", 0, own=12)
    assert not mirrors.has_mostly_copies("b")
