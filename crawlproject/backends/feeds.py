"""Detects feeds with items of earlier runs that a resumed crawl would overwrite."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy.extensions.feedexport import FeedExporter
from w3lib.url import file_uri_to_path

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler


def overwritten_feed(crawler: Crawler) -> Path | None:
    """A local file, not empty, that one of ``FEEDS`` will overwrite; None if there is none."""
    exporter = crawler.get_extension(FeedExporter)
    if exporter is None or crawler.spider is None:
        return None
    for uri, options in exporter.feeds.items():
        if options.get("overwrite") and urlsplit(uri).scheme in ("", "file"):
            try:
                path = Path(file_uri_to_path(uri % _Parameters(crawler.spider)))
                if path.stat().st_size:
                    return path
            except (OSError, ValueError, TypeError):  # no such file, or a name that needs ``uri_params``
                continue
    return None


class _Parameters(dict[str, Any]):
    """Values for the placeholders in a feed's URI: attributes of the spider; time and batch of a new file."""

    def __init__(self, spider: Spider) -> None:
        super().__init__(time="", batch_time="", batch_id=1)
        self._spider = spider

    def __missing__(self, name: str) -> Any:
        return getattr(self._spider, name, "")
