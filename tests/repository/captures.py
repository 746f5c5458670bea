"""Captures for tests, and a repository to keep them in."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from crawlproject.repository import Capture, PageRow, Repository, RepositoryOptions

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"


def capture(body: bytes = b"a page", url: str = "http://a.example/", status: int = 200, **more: object) -> Capture:
    """One answer; all that is not given is usual."""
    apart = {
        "request_head": b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n",
        "request_body": b"",
        "response_head": HEAD.replace(b"200 OK", str(status).encode() + b" Status"),
        "protocols": ("http/1.1",),
        "via": "http://a.example/from",
    }
    page: dict[str, object] = {
        "fetched_at": 1_790_000_000.25,
        "record_type": "response",
        "content_type": "text/html",
        "ip_address": "127.0.0.1",
        "server": "http://a.example",
        **{"depth": 1, "quality": 2.5, "dns_time": 0.001, "connect_time": 0.002, "response_time": 0.003},
        **{"fetch_time": 0.004},
        **{name: value for name, value in more.items() if name not in apart},
    }
    given = {name: more.get(name, value) for name, value in apart.items()}
    row = PageRow(url=url, status=status, **page)  # type: ignore[arg-type]
    return Capture(row, body=body, **given)  # type: ignore[arg-type]


def options(directory: Path, file_size: int = 10**9) -> RepositoryOptions:
    """A repository in ``directory``."""
    return RepositoryOptions(directory, file_size, "test", {"software": "test/1"})


class Kept:
    """A repository under way, with what it has counted; ``close`` is left to the test."""

    def __init__(self, chosen: RepositoryOptions) -> None:
        self.counts: Counter[str] = Counter()
        self.repository = Repository(chosen, self._count)
        self.repository.open()

    def _count(self, name: str, by: int) -> None:
        self.counts[name] += by

    def keep(self, captures: Iterable[Capture]) -> None:
        async def keep_all() -> None:
            for one in captures:
                await self.repository.keep(one)

        asyncio.run(keep_all())


def kept(chosen: RepositoryOptions, captures: Iterable[Capture]) -> Counter[str]:
    """Keep ``captures`` and close; what was counted."""
    made = Kept(chosen)
    made.keep(captures)
    made.repository.close()
    return made.counts
