"""Filters of feeds: one kind of record, or the items of one spider, only."""

from __future__ import annotations

from typing import Any

from scrapy.extensions.feedexport import ItemFilter

from crawlproject.requests.owners import current


class OfKind(ItemFilter):
    """``FEEDS = {FILE: {"item_filter": "crawlproject.records.feeds.OfKind", "records": ["book"]}}``."""

    option = "records"

    def __init__(self, feed_options: dict[str, Any] | None) -> None:
        super().__init__(feed_options)
        given = (feed_options or {}).get(self.option, ())
        self._names = frozenset([given] if isinstance(given, str) else given)

    def accepts(self, item: Any) -> bool:
        return isinstance(item, dict) and item.get("record") in self._names


class OfSpider(OfKind):
    """The same with ``"spiders": ["shop"]``: items of these, of several in one crawl."""

    option = "spiders"

    def accepts(self, item: Any) -> bool:
        owner = current.get()
        return owner is not None and owner.name in self._names
