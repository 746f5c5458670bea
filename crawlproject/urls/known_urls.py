"""Remembers what is said of URLs, since a site's pages share most of their links."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

#: Answers remembered; with ``MAX_LENGTH`` at most some 6 MB.
KNOWN_URLS = 16_384

#: Characters of the longest URL that is remembered: 16,384 URLs of 16 kB each would take 270 MB.
MAX_LENGTH = 256


def remembering(function: Callable[[str], T]) -> Callable[[str], T]:
    """``function``, whose answers for short URLs are remembered, the least recently asked for forgotten. O(1)."""
    known = lru_cache(KNOWN_URLS)(function)

    def ask(url: str) -> T:
        return known(url) if len(url) <= MAX_LENGTH else function(url)

    return ask
