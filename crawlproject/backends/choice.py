"""Chooses the backend of a crawl."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from scrapy.utils.misc import load_object

from crawlproject.backends.feeds import check_feeds, cut_incomplete_items
from crawlproject.options.extras import needs_extra
from crawlproject.options.values import age_seconds
from crawlproject.storage.errors import StoreError

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from crawlproject.backends.protocol import Backend, Host
    from crawlproject.dupefilter import SeenDupeFilter
    from crawlproject.frontier.frontier import Frontier
    from crawlproject.options.scheduling import FrontierOptions

#: ``FRONTIER_BACKEND`` -> class; imported only when used, as the import of RocksDB takes 0.1 s.
BACKENDS = {
    "memory": "crawlproject.backends.protocol.Backend",
    "disk": "crawlproject.backends.disk.DiskBackend",
    "redis": "crawlproject.backends.redis.RedisBackend",
}


def open_backend(
    crawler: Crawler, options: FrontierOptions, frontier: Frontier, seen: SeenDupeFilter, host: Host
) -> Backend:
    """Open the backend named by ``FRONTIER_BACKEND`` and load its contents into ``frontier`` and ``seen``.

    Raises ValueError if the spider's argument ``recrawl`` is not an age, if a recrawl is requested without the disk
    backend, if what the backend needs is not installed, or if a feed cannot be written or would be damaged; StoreError,
    which names the setting of the directory, if the store cannot be opened.
    """
    argument = getattr(crawler.spider, "recrawl", None)
    if isinstance(argument, str | int | float) and not isinstance(argument, bool):  # True: a project's own attribute
        options = replace(options, recrawl_age=age_seconds("recrawl", argument))
    if options.recrawl_age is not None and options.backend != "disk":
        raise ValueError(
            "recrawl (FRONTIER_RECRAWL_AGE) needs FRONTIER_BACKEND='disk': JOBDIR or FRONTIER_DIR must name a directory"
        )
    check_feeds(crawler)
    with needs_extra(f"FRONTIER_BACKEND={options.backend!r}", "redis"):  # no other backend needs an extra
        kind = load_object(BACKENDS[options.backend])
    try:
        backend: Backend = kind(crawler, options, frontier, seen, host)
    except StoreError as error:
        if options.backend != "disk" or options.directory is None:
            raise
        where = "" if error.path == options.directory else f"{error.path}: "
        raise StoreError(options.place, f"{where}{error.reason}") from error
    cut_incomplete_items(crawler)
    return backend
