"""The view of URLs: a search a page at a time, in short steps; one URL with its history; the same for commands."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crawlproject.clock import CLOCK
from crawlproject.frontier.live_limits import as_pattern
from crawlproject.urls.fates import STATS, Reason, Stage
from crawlproject.urls.server_key import covers, server_key, server_name
from crawlproject.urls.url_rows import LOST, QUEUED, STATES, UrlQuery
from crawlproject.urls.wildcards import UrlPatterns

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping

    from crawlproject.urls.fates import Fates
    from crawlproject.urls.url_rows import UrlRow, UrlTable

#: Seconds that an answer may take, and its turns of the event loop; rows of an answer.
TIME, TURN, MAX_LIMIT = 0.05, 0.003, 200

#: Seconds for which the servers of a host or spider count as known: those of a search in several requests.
FRESH = 30.0

#: Characters of a URL that are shown, and of a pattern.
MAX_URL, MAX_PATTERN = 2_000, 500

REASONS = {str(reason): reason for reason in Reason}
_PARAMETERS = frozenset(("search", "host", "spider", "state", "reason", "status", "depth", "next", "limit", "count"))


def parse(given: Mapping[str, str], servers: frozenset[str] | None = None) -> UrlQuery:
    """From the parameters of a URL, with the keys of the servers that ``host`` and ``spider`` mean; None: all.

    Raises ValueError for a wrong one.
    """
    if unknown := given.keys() - _PARAMETERS:
        raise ValueError(f"unknown parameter: {min(unknown):.50}")
    text, state, reason = (given.get(name, "").strip() for name in ("search", "state", "reason"))
    if len(text) > MAX_PATTERN:
        raise ValueError(f"search: at most {MAX_PATTERN} characters")
    if state and state not in STATES:
        raise ValueError(f"state: one of {', '.join(STATES)}")
    if reason and reason not in REASONS:
        raise ValueError(f"reason: one of {', '.join(REASONS)}")
    return UrlQuery(
        UrlPatterns([as_pattern(text)]) if text else None,
        servers,
        state,
        reason,
        _number(given, "status", 999),
        _number(given, "depth", 0xFFFF),
        literal_of(as_pattern(text)) if text else "",
    )


#: Characters that are the same in a pattern and in a canonical URL, host or path.
_LITERAL = re.compile(r"[a-z0-9_~-]+")

#: What is written in another way in the canonical form: escapes, ports.
_VARIES = re.compile(r"%[0-9A-Fa-f]{2}|:[0-9]+")


def literal_of(pattern: str) -> str:
    """The longest text without a slash that is in each URL that matches ``pattern``; empty if there is none.

    >>> literal_of("/blog/*.html"), literal_of("*Archive*"), literal_of("re:x+")
    ('blog', 'rchive', '')
    """
    if pattern.startswith("re:"):
        return ""
    runs = _LITERAL.findall(_VARIES.sub("*", pattern))
    return max(runs, key=len, default="")


def chosen_by(
    host: str, spider: str, spiders: Collection[str], spider_of: Callable[[str], str]
) -> Callable[[str], bool] | None:
    """Whether a server, by its key, is of this host or domain, and of this spider; None: all are.

    ``spiders``: all names; ``spider_of``: the name of a server's.  Raises ValueError for a wrong name.
    """
    name = server_name(host) if host else ""
    if spider and spider not in spiders:
        raise ValueError(f"spider: one of {', '.join(spiders)}")
    if not (name or spider):
        return None
    return lambda key: (not name or covers(name, key)) and (not spider or spider_of(key) == spider)


def _number(given: Mapping[str, str], name: str, most: int) -> int | None:
    text = given.get(name, "").strip()
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 6 and int(text) <= most):
        raise ValueError(f"{name}: a whole number from 0 to {most}")
    return int(text)


@dataclass
class UrlView:
    """The URLs of a running crawl. All answers are JSON values."""

    urls: UrlTable
    fates: Fates
    #: Keys of all servers.
    servers: Callable[[], Iterable[str]]
    #: The canonical form of a URL that a person writes; None for what is none.
    canonical: Callable[[str], str | None]
    #: Writes what is queued to the store, which a search reads.
    saved: Callable[[], Awaitable[bool]]
    #: Names of all spiders, and the name of the one that a server is crawled by.
    spiders: Callable[[], list[str]]
    spider_of: Callable[[str], str]

    #: Host and spider of the last search, when it began, and their servers.
    _chosen: tuple[tuple[str, str], float, frozenset[str]] = (("", ""), 0.0, frozenset())

    async def find(self, given: Mapping[str, str]) -> dict[str, Any]:
        """A page of the URLs that ``given`` asks for, and where the next one begins (``next``; None: this is the last).

        Takes ``TIME`` at most, so a page may be empty although others follow; other tasks run every ``TURN`` seconds.
        ``count``: how many there are, without the rows.
        """
        query = parse(given, await self._servers(*(given.get(name, "").strip() for name in ("host", "spider"))))
        limit = min(_number(given, "limit", 99_999) or MAX_LIMIT, MAX_LIMIT)
        rows: list[UrlRow] = []
        begun = turn = CLOCK()
        only_counts = bool(given.get("count"))
        count, after, share, most = 0, "", 0.0, 10**9 if only_counts else limit
        for after, share, found in self.urls.rows(query, given.get("next", ""), most):  # noqa: B007
            count += len(found)
            rows += () if only_counts else found
            if count >= most or CLOCK() - begun >= TIME:
                break
            if CLOCK() - turn >= TURN:
                await asyncio.sleep(0)
                turn = CLOCK()
        else:
            after, share = "", 1.0
        links = [] if only_counts or given.get("next") else examples(self.fates, query)
        return {
            "rows": [shown(row) for row in rows] + links,
            "count": count,
            "next": after or None,
            "share": share,
            "note": ", ".join(dict.fromkeys(row["note"] for row in links)),
        }

    async def _servers(self, host: str, spider: str) -> frozenset[str] | None:
        """The servers that a search is for; None: all. O(servers), in turns, unless the last search was for them."""
        is_wanted = chosen_by(host, spider, self.spiders() if spider else (), self.spider_of)
        if is_wanted is None:
            return None
        named, at, found = self._chosen
        if named != (host, spider) or CLOCK() - at > FRESH:
            wanted, turn = [], CLOCK()
            for key in self.servers():
                if is_wanted(key):
                    wanted.append(key)
                if CLOCK() - turn >= TURN:
                    await asyncio.sleep(0)
                    turn = CLOCK()
            found = frozenset(wanted)
            self._chosen = (host, spider), CLOCK(), found
        return found

    async def one(self, given: Mapping[str, str]) -> dict[str, Any]:
        """What became of a URL, as a person writes it. Raises ValueError for what is none."""
        url = self.canonical(given.get("url", ""))
        if url is None:
            raise ValueError("url: no URL with http or https and a server")
        await self.saved()
        query = UrlQuery(servers=frozenset((server_key(url),)), state=QUEUED)
        queued = None
        for _, _, found in self.urls.rows(query, most=10**9):
            queued = next((row for row in found if row.url == url), None)
            if queued is not None:
                break
            await asyncio.sleep(0)
        return describe(url, queued, self.urls)


def shown(row: UrlRow) -> dict[str, Any]:
    return {**row._asdict(), "url": row.url[:MAX_URL]}


def examples(fates: Fates, query: UrlQuery) -> list[dict[str, Any]]:
    """Links that were refused before they were queued, of which only the first ones are kept."""
    places = [(stage, reason) for stage, reason in STATS if stage is Stage.LINK and reason == query.reason]
    return [
        {
            "url": url,
            "state": LOST,
            "stage": stage,
            "reason": reason,
            "note": f"the first ones: {reason.words}",
        }
        for stage, reason in places
        for url in fates.examples(stage, reason)
        if query.state in ("", LOST) and (query.pattern is None or query.pattern.match(url))
    ]


def describe(url: str, queued: UrlRow | None, urls: UrlTable) -> dict[str, Any]:
    """A URL for people: its state and reason in words, and its history."""
    ends = urls.history(url)
    last = queued or (ends[0] if ends else None)
    reason = REASONS[last.reason] if last is not None and last.reason else None
    if last is None:
        words = "not queued, and not among those that are kept: never found, refused as a link, or lost long ago"
    elif reason is None:
        words = "queued, or in progress"
    else:
        words = reason.words
    return {
        "url": url[:MAX_URL],
        "server": server_key(url),
        "url_state": words,
        "change": "" if reason is None else reason.change,
        **({} if last is None else {name: value for name, value in last._asdict().items() if name not in ("url",)}),
        "at": ends[0].at if ends else None,
        "history": [
            {"at": end.at, "what": f"{end.state}: {REASONS[end.reason].words}", "status": end.status or None}
            for end in ends
        ],
    }
