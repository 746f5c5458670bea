"""Caches results per URL, because a site's pages share most of their links."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

#: Maximum cached results; with ``MAX_LENGTH`` at most some 6 MB.
KNOWN_URLS = 16_384

#: Maximum length of a cached URL (characters): 16,384 URLs of 16 kB each would take 270 MB.
MAX_LENGTH = 256


def remembering(function: Callable[[str], T]) -> Callable[[str], T]:
    """``function`` with an LRU cache for short URLs. O(1)."""
    known = lru_cache(KNOWN_URLS)(function)

    def ask(url: str) -> T:
        return known(url) if len(url) <= MAX_LENGTH else function(url)

    return ask
