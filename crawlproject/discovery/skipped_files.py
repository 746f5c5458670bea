"""Links that end like files: what each server answers to a few of them decides about the rest."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cachetools import LRUCache

from crawlproject.frontier.learning.file_kinds import PAGES, FileKinds, extension_of, kind_of
from crawlproject.requests.answers import HTML_TYPES, media_type
from crawlproject.urls.server_key import server_key

if TYPE_CHECKING:
    from scrapy.http import Response
    from scrapy.statscollectors import StatsCollector

    from crawlproject.frontier.frontier import Frontier
    from crawlproject.options.links import LinkOptions

#: Servers that must have answered an extension with files, and none with a page, before one answer is enough elsewhere.
AGREEING_SERVERS = 3

#: Kinds of URLs, each of a server, whose links queued to learn from are counted: some 20 MB. A server may make up any
#: number of directories.
PROBES_REMEMBERED = 65_536

#: Factor on the quality of a link that a server is asked for to learn from, and on that of those that wait for it.
PROBED, WAITING = 0.1, 1e-9


class SkippedFiles:
    """Judges the links that ``LINKS_SKIP_EXTENSIONS`` names.

    A kind of URL (``frontier.file_kinds``) is skipped on a server after ``LINKS_SKIP_AFTER`` answers of that kind were
    not HTML; after one HTML page it is never skipped there.  Until then its links are queued behind all others, except
    those that are asked for to learn from.
    Stats: ``frontier/links/dropped/extension`` (links that waited), ``frontier/links/probed/extension``.
    """

    def __init__(self, frontier: Frontier, stats: StatsCollector, options: LinkOptions) -> None:
        self._frontier = frontier
        self._stats = stats
        self._needed = options.skip_after
        self._extensions = options.skip_extensions
        # (server, kind) -> links queued to learn from, in this run.
        self._probed: LRUCache[tuple[str, str], int] = LRUCache(PROBES_REMEMBERED)
        # Extension -> servers where a kind of it turned out to be files, up to AGREEING_SERVERS of them.
        self._files: dict[str, set[str]] = {}
        self._pages: set[str] = set()  # extensions of kinds that turned out to be pages, on any server
        for server in frontier.servers:
            for kind, answers in () if server.file_kinds is None else server.file_kinds.items():
                self._count(server.key, kind, answers)

    def is_skipped(self, url: str) -> bool:
        """Whether the link to the canonical ``url``, which has an extension of the list, is not followed. O(length)."""
        if not self._needed:
            return True
        server = self._frontier.server(server_key(url))
        if server is None or server.file_kinds is None:
            return False
        return self._is_known(server.file_kinds, kind_of(url))

    def factor(self, url: str) -> float:
        """What becomes of the quality of a link that ``is_skipped`` let through, to be queued now. O(length)."""
        key, kind = server_key(url), kind_of(url)
        server = self._frontier.server(key)
        answers = 0 if server is None or server.file_kinds is None else server.file_kinds.answers(kind)
        if answers == PAGES:
            return 1.0
        probe = (key, kind)
        probed = self._probed.get(probe, 0)
        if probed + answers >= self._needed_for(kind):
            return WAITING
        self._probed[probe] = probed + 1
        self._stats.inc_value("frontier/links/probed/extension")
        return PROBED

    def is_dropped(self, url: str) -> bool:
        """Whether a link queued before is, now that its turn has come. O(length)."""
        if extension_of(url) not in self._extensions or not self.is_skipped(url):
            return False
        self._stats.inc_value("frontier/links/dropped/extension")
        return True

    def learn(self, response: Response) -> None:
        """An answer has come: from 200 to a GET with such an extension something is learned. O(length)."""
        url = response.url.partition("#")[0]
        request = response.request
        if response.status != 200 or request is None or request.method != "GET":
            return
        if extension_of(url) not in self._extensions:
            return
        server, media = self._frontier.server(server_key(url)), media_type(response.headers)
        if server is None or not media:
            return
        kinds = server.file_kinds = server.file_kinds or FileKinds()
        kind = kind_of(url)
        kinds.learn(kind, is_page=media in HTML_TYPES)
        self._frontier.servers.changed(server)
        self._count(server.key, kind, kinds.answers(kind))

    def _is_known(self, kinds: FileKinds, kind: str) -> bool:
        return kinds.answers(kind) >= self._needed_for(kind)

    def _needed_for(self, kind: str) -> int:
        extension = kind.partition(" ")[0]
        agreeing = len(self._files.get(extension, ()))
        is_agreed = agreeing >= AGREEING_SERVERS and extension not in self._pages
        return min(1, self._needed) if is_agreed else self._needed

    def _count(self, server: str, kind: str, answers: int) -> None:
        extension = kind.partition(" ")[0]
        if answers == PAGES:
            self._pages.add(extension)
        elif answers >= self._needed_for(kind) > 0:
            servers = self._files.setdefault(extension, set())
            if len(servers) < AGREEING_SERVERS:
                servers.add(server)
