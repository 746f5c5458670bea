"""The URLs of a crawl in memory: those queued, and the last ones that ended."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any

from crawlproject.frontier.queues.url_queue import UrlQueue
from crawlproject.urls.server_key import server_key
from crawlproject.urls.url_rows import QUEUED, STEP, End, UrlQuery, UrlRow, row_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from crawlproject.frontier.entry import Entry
    from crawlproject.urls.fates import Outcome

#: URLs that have ended which are remembered: about 3 MB.
MAX_ENDED = 10_000


class MemoryUrls:
    """``UrlTable`` of a frontier in memory. A search sees what changes meanwhile, or not."""

    def __init__(self, frontier: Any) -> None:
        self._frontier = frontier
        self._ended: deque[UrlRow] = deque(maxlen=MAX_ENDED)

    def add(self, outcome: Outcome) -> None:
        """Remember the end of a URL. O(1)."""
        status = 0 if outcome.ending is None else outcome.ending.status
        end = End(int(time.time()), outcome.stage, outcome.reason, status, outcome.depth)
        self._ended.append(row_of(outcome.url, end))

    def rows(self, query: UrlQuery, after: str = "", most: int = STEP) -> Iterator[tuple[str, float, list[UrlRow]]]:
        try:
            skipped = [int(part) for part in after.split(".")] if after else [0, 0]
            done, begun = skipped
        except ValueError:
            raise ValueError("next: not where a search of these URLs ended") from None
        servers, urls = list(self._frontier.servers), list(reversed(self._ended))
        for number in range(done, len(servers)):
            server = servers[number]
            if isinstance(server.urls, UrlQueue) and (query.servers is None or server.key in query.servers):
                start = begun if number == done else 0
                while start < len(server.urls):
                    size = min(STEP, most)
                    entries = map(_queued, server.urls.some(server.key, start, start + size))
                    found = list(filter(query.wants, entries))
                    most, start = max(1, most - len(found)), start + size
                    yield f"{number}.{start}", number / len(servers) / 2, found
        begun = begun if done >= len(servers) else 0
        while begun < len(urls):
            size = min(STEP, most)
            found = [row for row in urls[begun : begun + size] if query.wants(row) and _is_of(row.url, query)]
            most, begun = max(1, most - len(found)), begun + size
            yield f"{len(servers)}.{begun}", 0.5 + begun / len(urls) / 2, found

    def history(self, url: str) -> list[UrlRow]:
        return [row for row in reversed(self._ended) if row.url == url]


def _queued(entry: Entry) -> UrlRow:
    return UrlRow(entry.url, QUEUED, "", "", 0, entry.depth, entry.quality, entry.priority)


def _is_of(url: str, query: UrlQuery) -> bool:
    return query.servers is None or server_key(url) in query.servers
