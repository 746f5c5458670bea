"""Links with a file extension: a server's responses to a few of them decide whether the rest are fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cachetools import LRUCache

from crawlproject.discovery.page_reading import PAGE_MEDIA
from crawlproject.download.content_types import media_type
from crawlproject.frontier.learning.file_kinds import PAGES, FileKinds, extension_of, kind_of
from crawlproject.urls.server_key import server_key

if TYPE_CHECKING:
    from scrapy.http import Response
    from scrapy.statscollectors import StatsCollector

    from crawlproject.frontier.entry import Entry
    from crawlproject.frontier.frontier import Frontier
    from crawlproject.options.following import LinkOptions

#: If this many servers answered an extension with files, and none with a page, one response is enough on other servers.
AGREEING_SERVERS = 3

#: Pairs (server, kind of URL) whose probes are counted: about 20 MB. Bounded, as a server may generate any number of
#: directories.
PROBES_REMEMBERED = 65_536

#: Factors on the quality of a link fetched as a probe, and of links that wait for the result of a probe.
PROBED, WAITING = 0.1, 1e-9


class SkippedFiles:
    """Judges links with an extension in ``FRONTIER_LINKS_SKIP_EXTENSIONS``.

    A kind of URL (``frontier.learning.file_kinds``) is skipped on a server after ``FRONTIER_LINKS_SKIP_AFTER``
    responses of that kind were not HTML; after one HTML page it is never skipped there.  Until then its links rank
    last, except probes. Stat: ``frontier/links/probed/extension``.
    """

    def __init__(self, frontier: Frontier, stats: StatsCollector, options: LinkOptions) -> None:
        self._frontier = frontier
        self._stats = stats
        self._needed = options.skip_after
        self._extensions = options.skip_extensions
        # (server, kind) -> probes queued in this run.
        self._probed: LRUCache[tuple[str, str], int] = LRUCache(PROBES_REMEMBERED)
        # Extension -> servers where one of its kinds is known to be files, at most AGREEING_SERVERS.
        self._files: dict[str, set[str]] = {}
        self._pages: set[str] = set()  # extensions with a kind known to be pages on any server
        for server in frontier.servers:
            for kind, answers in () if server.file_kinds is None else server.file_kinds.items():
                self._count(server.key, kind, answers)

    def is_skipped(self, url: str) -> bool:
        """Whether to skip the link to the canonical ``url``, which has an extension of the list. O(length)."""
        if not self._needed:
            return True
        server = self._frontier.server(server_key(url))
        if server is None or server.file_kinds is None:
            return False
        kind = kind_of(url)
        return server.file_kinds.answers(kind) >= self._needed_for(kind)

    def factor(self, url: str) -> float:
        """Factor on the quality of a link that is not skipped; counts it if it becomes a probe. O(length)."""
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
        """Whether to skip a queued link when it is scheduled. O(length)."""
        return extension_of(url) in self._extensions and self.is_skipped(url)

    def rated(self, entry: Entry) -> Entry:
        """The ``entry`` of a link that another worker found, with ``factor`` applied if it has an extension of the
        list. O(length)."""
        if extension_of(entry.url) not in self._extensions:
            return entry
        return entry._replace(quality=entry.quality * self.factor(entry.url))

    def learn(self, response: Response) -> None:
        """Learn the media type of a 200 response to a GET with an extension of the list. O(length)."""
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
        kinds.learn(kind, is_page=media in PAGE_MEDIA)
        self._frontier.servers.changed(server)
        self._count(server.key, kind, kinds.answers(kind))

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
