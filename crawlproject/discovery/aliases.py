"""Servers that are another name of one that is crawled, by DNS: links to them lead to that one (docs/duplicates.md)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from crawlproject.requests.unstored import Unstored
from crawlproject.urls.server_key import host_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from crawlproject.backends.protocol import Backend
    from crawlproject.dupefilter import SeenDupeFilter
    from crawlproject.frontier.entry import Entry
    from crawlproject.frontier.frontier import Frontier

logger = logging.getLogger(__name__)


class HostAliases:
    """Knows such servers, and maps their URLs; false while there are none, or without ``is_on``.

    ``may_merge``: whether two servers belong together otherwise.  Stats: ``duplicates/aliases`` (servers).
    """

    def __init__(  # noqa: PLR0913
        self,
        frontier: Frontier,
        seen: SeenDupeFilter,
        backend: Backend,
        may_merge: Callable[[str, str], bool],
        count: Callable[[str], None],
        *,
        is_on: bool,
    ) -> None:
        self._frontier, self._seen, self._backend = frontier, seen, backend
        self._may_merge, self._count = may_merge, count
        self._is_on = is_on

    def __bool__(self) -> bool:
        return self._is_on and bool(self._frontier.servers.aliases)

    def mapped(self, url: str) -> str:
        """The canonical ``url`` under the name that is crawled; the same object if it stays. O(length)."""
        end = url.find("/", 8)  # 8: length of "https://"
        main = self._frontier.servers.aliases.get(url[:end])
        return url if main is None else main + url[end:]

    def takes(self, entry: Entry) -> bool:
        """Whether the ``entry`` of a link, which has left the queue, is mapped; it is queued again if it is new then.

        Not a request of a spider, which wants this server.  O(length), O(log n) once.
        """
        url = self.mapped(entry.url)
        backend = self._backend
        stays = url is entry.url or isinstance(entry.payload, Unstored) or backend.is_refetched(entry)
        if stays or not backend.is_link(entry):
            return False
        if self._seen.url_is_new(url):
            self._frontier.push([entry._replace(url=url, place=None)])
        return True

    def is_suspected(self, key: str, hosts: Iterable[str]) -> bool:
        """Whether the host of the server ``key`` is an alias of one of ``hosts`` with a server that has answered."""
        scheme, _, netloc = key.partition("://")
        port = netloc.removeprefix(host_of(key))
        names = (f"{scheme}://{host}{port}" for host in hosts) if self._is_on else ()
        known = (self._frontier.server(name) for name in names)
        return any(server is not None and server.answered and self._may_merge(key, server.key) for server in known)

    def merge(self, key: str, main: str) -> None:
        """The server ``key`` is another name of ``main``: its host has a CNAME record, the same address and front page.

        O(aliases).
        """
        servers = self._frontier.servers
        if not self._is_on or key in servers.aliases or not self._may_merge(key, main):
            return
        if servers.learn_alias(key, main):
            logger.info("%s is another name of %s (FRONTIER_DUPLICATES_ALIASES)", key, servers.aliases[key])
            self._count("duplicates/aliases")
