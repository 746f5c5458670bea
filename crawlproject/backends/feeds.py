"""Detects feeds with items of earlier runs that this run would overwrite or damage."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy.extensions.feedexport import FeedExporter
from w3lib.url import file_uri_to_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Spider
    from scrapy.crawler import Crawler


def overwritten_feed(crawler: Crawler) -> Path | None:
    """A local file, not empty, that one of ``FEEDS`` will overwrite; None if there is none."""
    return next((path for path, options in _written(crawler) if options.get("overwrite")), None)


def damaged_feed(crawler: Crawler) -> Path | None:
    """A local Parquet file, not empty, to which one of ``FEEDS`` will append; None if there is none.

    The positions in a Parquet file count from its beginning, so two in one file cannot be read.
    """
    appended = ((path, options) for path, options in _written(crawler) if not options.get("overwrite"))
    return next((path for path, options in appended if options.get("format") == "parquet"), None)


def _written(crawler: Crawler) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Local files, not empty, that ``FEEDS`` will write, with the options of their feeds."""
    exporter = crawler.get_extension(FeedExporter)
    if exporter is None or crawler.spider is None:
        return
    for uri, options in exporter.feeds.items():
        if urlsplit(uri).scheme in ("", "file"):
            try:
                path = Path(file_uri_to_path(uri % _Parameters(crawler.spider)))
                size = path.stat().st_size
            except (OSError, ValueError, TypeError):  # no such file, or a name that needs ``uri_params``
                continue
            if size:
                yield path, options


class _Parameters(dict[str, Any]):
    """Values for the placeholders in a feed's URI: attributes of the spider; time and batch of a new file."""

    def __init__(self, spider: Spider) -> None:
        super().__init__(time="", batch_time="", batch_id=1)
        self._spider = spider

    def __missing__(self, name: str) -> Any:
        return getattr(self._spider, name, "")
