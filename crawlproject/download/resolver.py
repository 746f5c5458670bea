"""One caching resolver for all connections of a crawl."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

from aiohttp.resolver import ThreadedResolver
from cachetools import TTLCache

if TYPE_CHECKING:
    from aiohttp.abc import ResolveResult


class CachingResolver(ThreadedResolver):
    """The system's resolver, its answers kept for ``lifetime`` seconds, at most ``size`` names."""

    def __init__(self, size: int = 100_000, lifetime: float = 600.0) -> None:
        super().__init__()
        self._answers: TTLCache[tuple[str, int, socket.AddressFamily], list[ResolveResult]] = TTLCache(size, lifetime)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        """Addresses of ``host``. O(1) when cached; raises OSError when there is none."""
        key = (host, port, family)
        answer = self._answers.get(key)
        if answer is None:
            answer = self._answers[key] = await super().resolve(host, port, family)
        return answer
