"""All URLs that a store knows by name, queued and ended: searched in steps, from any row on.

Three tables, each by server: queued URLs (``storage.urls``), those that ended (``storage.fates``), fetched pages
(``storage.fetched``).  A search goes through them in this order; what it returns is as committed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlproject.frontier.entry import path_of, url_of
from crawlproject.frontier.queues.sort_key import SORT_KEY_BYTES, decode_row, decode_sort_key
from crawlproject.storage.fates import LENGTH, decode_ends
from crawlproject.storage.fates import TABLE as ENDED
from crawlproject.storage.fetched import TABLE as FETCHED
from crawlproject.storage.fetched import FetchedPage
from crawlproject.storage.rocks import number_range, row_key
from crawlproject.urls.fates import STATS, Reason, Stage, encoded
from crawlproject.urls.server_key import server_key
from crawlproject.urls.url_rows import FETCHED_STATE, LOST, QUEUED, STEP, UrlQuery, UrlRow, row_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from crawlproject.storage.rocks import Rocks

#: Bytes of a server's number in a key.
NUMBER = 4

#: Most servers whose rows are looked up each for itself: for more, all rows are gone through.
LOOKED_UP = 1_000


class StoredUrls:
    """``UrlTable`` over a store; ``key_of``: number of a server -> its key, None for none; ``number_of``: the inverse.

    A search of 10 million URLs takes some 10 s in all; one of a server's URLs begins with them.
    """

    def __init__(
        self,
        rocks: Rocks,
        numbers: Callable[[], Iterable[int]],
        key_of: Callable[[int], str | None],
        number_of: Callable[[str], int | None],
        *,
        by_quality: bool,
    ) -> None:
        self._rocks = rocks
        self._numbers = numbers
        self._key_of = key_of
        self._number_of = number_of
        self._by_quality = by_quality

    def rows(self, query: UrlQuery, after: str = "", most: int = STEP) -> Iterator[tuple[str, float, list[UrlRow]]]:
        tables = self._tables(query)
        first, start = _place(after, tables)
        servers = query.servers
        chosen = None if servers is None or len(servers) > LOOKED_UP else self._chosen(servers)
        screen = _Screen(query, self._key_of)
        last = max(chosen if chosen is not None else self._numbers(), default=0) + 1
        for place in range(first, len(tables)):
            table = tables[place]
            is_end, is_queued = table == ENDED, table == "urls"
            for low, high in [number_range(0, 1 << 32)] if chosen is None else [number_range(n, n + 1) for n in chosen]:
                if start and high <= start:
                    continue
                found: list[UrlRow] = []
                key = b""
                for looked, (key, value) in enumerate(self._rocks.rows(table, max(low, start), high), 1):
                    if screen.passes(key, value, is_end=is_end, is_queued=is_queued) and (
                        row := self._row(table, key, value, query)
                    ):
                        found.append(row)
                    if looked % STEP == 0 or len(found) == most:
                        share = (place + int.from_bytes(key[:NUMBER], "big") / last) / len(tables)
                        yield f"{place}.{key.hex()}00", min(1.0, share), found
                        most -= len(found)
                        found = []
                if found:
                    yield f"{place}.{key.hex()}00", (place + 1) / len(tables), found
                    most -= len(found)
            start = b""

    def history(self, url: str) -> list[UrlRow]:
        server = server_key(url)
        number = self._number_of(server)
        if number is None:
            return []
        key = row_key(number, path_of(url, server))
        ends = [row_of(url, end) for end in decode_ends(self._rocks.get(ENDED, key) or b"")]
        if (page := self._rocks.get(FETCHED, key)) is not None:
            ends.append(_page(url, page))
        return sorted(ends, key=lambda row: -(row.at or 0.0))

    def _chosen(self, servers: Iterable[str]) -> list[int]:
        return sorted(number for key in servers if (number := self._number_of(key)) is not None)

    @staticmethod
    def _tables(query: UrlQuery) -> list[str]:
        """Those that may have such URLs."""
        is_ended = bool(query.reason) or query.status is not None
        if query.state == QUEUED:
            return [] if is_ended else ["urls"]
        queued = [] if is_ended or query.state else ["urls"]
        is_plain = query.state != LOST and query.reason in ("", Reason.FETCHED) and query.status in (None, 200)
        return [*queued, ENDED, *([FETCHED] if is_plain else [])]

    def _row(self, table: str, key: bytes, value: bytes, query: UrlQuery) -> UrlRow | None:
        server = self._key_of(int.from_bytes(key[:NUMBER], "big"))
        if server is None:
            return None
        if table == "urls":
            path, depth, _ = decode_row(value)
            quality, priority, _ = decode_sort_key(key[NUMBER : NUMBER + SORT_KEY_BYTES], by_quality=self._by_quality)
            row = UrlRow(url_of(path, server), QUEUED, depth=depth, quality=quality, priority=priority)
            return row if query.wants(row) else None
        url = url_of(key[NUMBER:].decode("utf-8", "surrogatepass"), server)
        if table == FETCHED:
            if not query.wants(row := _page(url, value)):
                return None
            later = decode_ends(self._rocks.get(ENDED, key) or b"")
            return None if later and later[-1].at > (row.at or 0.0) else row
        ends = decode_ends(value)
        if not ends or not query.wants(row := row_of(url, ends[-1])):
            return None
        page = self._rocks.get(FETCHED, key)
        return None if page is not None and (_page(url, page).at or 0.0) >= ends[-1].at else row


class _Screen:
    """Whether a row may match, from its bytes: most rows of a search are not looked at more closely. 0.2 µs each."""

    def __init__(self, query: UrlQuery, key_of: Callable[[int], str | None]) -> None:
        self._literal = query.literal.encode()
        self._servers = query.servers
        self._key_of = key_of
        self._server, self._is_wanted, self._is_of_host = b"", True, False
        self._marks = {encoded(stage, reason) for stage, reason in STATS if reason == query.reason}
        self._status = None if query.status is None else query.status.to_bytes(2, "big")
        self._depth = None if query.depth is None else query.depth.to_bytes(2, "big")

    def passes(self, key: bytes, value: bytes, *, is_end: bool, is_queued: bool) -> bool:
        literal = self._literal
        if (server := key[:NUMBER]) != self._server:
            name = self._key_of(int.from_bytes(server, "big")) or ""
            self._server, self._is_of_host = server, literal in name.encode()
            self._is_wanted = self._servers is None or name in self._servers
        if not self._is_wanted:
            return False
        if literal and not self._is_of_host and literal not in (value if is_queued else key):
            return False
        if not is_end:
            return True
        end = value[-LENGTH:]
        return (
            (not self._marks or end[4] in self._marks)
            and (self._status is None or end[5:7] == self._status)
            and (self._depth is None or end[7:] == self._depth)
        )


def _page(url: str, data: bytes) -> UrlRow:
    page = FetchedPage.decode(data)
    return UrlRow(
        url, FETCHED_STATE, Stage.ANSWER, Reason.FETCHED, 200, page.depth, page.quality, page.priority, page.fetched
    )


def _place(after: str, tables: list[str]) -> tuple[int, bytes]:
    if not after:
        return 0, b""
    place, _, key = after.partition(".")
    try:
        number, start = int(place), bytes.fromhex(key)
        if len(key) > 40_000 or not 0 <= number < len(tables):
            raise ValueError
    except ValueError:
        raise ValueError("next: not where a search of these URLs ended") from None
    return number, start
