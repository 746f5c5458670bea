"""Several spiders in one crawl: counts what each does, ends one without the others, sends its items through its
pipelines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from scrapy import signals
from scrapy.exceptions import CloseSpider
from scrapy.pipelines import ItemPipelineManager
from scrapy.spidermiddlewares.base import BaseSpiderMiddleware
from scrapy.utils.misc import build_from_crawler, load_object

from crawlproject.crawl_frontier import frontier_of
from crawlproject.engine import Crawl, stats_of
from crawlproject.middlewares.base import CrawlerMiddleware
from crawlproject.requests.meta import QUALITY
from crawlproject.requests.owners import Owner, Owners, current
from crawlproject.urls.fates import Reason

if TYPE_CHECKING:
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Request, Response
    from twisted.python.failure import Failure

    from crawlproject.frontier.measurement import Measurement


class SpiderOfPage(CrawlerMiddleware):
    """A spider middleware, before all others: notes whose page it is, for all that is done with it.

    Without the fast lane the errback of a request without an answer runs unnoticed: its items are the crawl's.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._owners = Crawl.of(crawler).part(Owners)

    def process_spider_input(self, response: Response) -> None:
        assert response.request is not None
        current.set(self._owners.of_request(response.request))


class SpidersMiddleware(BaseSpiderMiddleware):
    """A spider middleware, next to ``LinksMiddleware``.

    Stats: ``spiders/NAME/pages``, ``/items``, ``/errors``, ``/empty``, ``/dropped``, ``/seconds``.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._stats = stats_of(crawler)
        self._owners = Crawl.of(crawler).part(Owners)
        self._without_item: WeakSet[Response] = WeakSet()
        crawler.signals.connect(self._opened, signals.spider_opened)
        crawler.signals.connect(self._closed, signals.spider_closed)
        crawler.signals.connect(self._item_scraped, signals.item_scraped)
        crawler.signals.connect(self._failed, signals.spider_error)

    def process_spider_input(self, response: Response) -> None:
        """Count the page."""
        if (owner := current.get()) is not None:
            self._without_item.add(response)
            self._count(owner, "pages")
            self._count(owner, "empty")

    def get_processed_request(self, request: Request, response: Response | None) -> Request | None:
        """Drop a request that is too deep for its spider."""
        owner = current.get()
        if owner is None or response is None:
            return request
        if response.meta.get("depth", 0) >= owner.depth_limit:
            if (crawl := frontier_of(self.crawler)) is not None:
                crawl.fates.refuse(Reason.DEPTH, [request.url])
            return None
        quality_of = getattr(owner.spider, "quality_of", None)
        if quality_of is not None:
            request.meta.setdefault(QUALITY, quality_of(request.url))
        return request

    def get_processed_item(self, item: Any, response: Response | None) -> Any:
        owner = current.get()
        if owner is not None and response is not None and response in self._without_item:
            self._without_item.discard(response)
            self._count(owner, "empty", -1)
        return item

    def process_spider_exception(self, response: Response, exception: Exception) -> list[Any] | None:
        """``CloseSpider`` ends the spider of the page only."""
        owner = current.get()
        if owner is None or not isinstance(exception, CloseSpider):
            return None
        self._owners.end(owner, exception.reason or "cancelled")
        return []

    def _opened(self) -> None:
        if (crawl := frontier_of(self.crawler)) is not None:
            crawl.observers.append(self._measured)

    def _measured(self, measured: Measurement) -> None:
        if (owner := self._owners.of(measured.server_key)) is not None:
            owner.count("seconds", measured.fetch_time)

    def _closed(self) -> None:
        for owner in self._owners:
            if owner.dropped:
                self._stats.set_value(f"spiders/{owner.name}/dropped", owner.dropped)
            self._stats.set_value(f"spiders/{owner.name}/seconds", round(owner.seconds, 3))

    def _item_scraped(self) -> None:
        if (owner := current.get()) is not None:
            self._count(owner, "items")

    def _failed(self, response: Response | Failure) -> None:
        request = getattr(response, "request", None)
        owner = None if request is None else self._owners.of_request(request)
        if owner is not None:
            self._count(owner, "errors")

    def _count(self, owner: Owner, what: str, number: int = 1) -> None:
        self._stats.set_value(f"spiders/{owner.name}/{what}", self._owners.count(owner, what, number))


class PipelinesBySpider(ItemPipelineManager):
    """``ITEM_PROCESSOR``: each item passes the pipelines of the spider that yielded it.

    A pipeline that the crawl has, too, is the same object.  Those that take the spider get the item's.
    """

    _of: dict[Owner, ItemPipelineManager]
    _own: list[ItemPipelineManager]

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        manager = super().from_crawler(crawler)
        shared = {type(pipeline): pipeline for pipeline in manager.middlewares}
        manager._of, manager._own = {}, []
        for owner in Crawl.of(crawler).part(Owners):
            if owner.spider is None:
                continue
            view = owner.spider.crawler
            paths = cls._get_mwlist_from_settings(view.settings) if owner.has_pipelines else shared
            kinds = [load_object(path) for path in paths]
            own = {kind: build_from_crawler(kind, view) for kind in kinds if kind not in shared}
            of_items = [own.get(kind) or shared[kind] for kind in kinds]
            manager._of[owner] = ItemPipelineManager(*of_items, crawler=view)
            if own:
                manager._own.append(ItemPipelineManager(*own.values(), crawler=view))
        return manager

    def of(self, owner: Owner | None) -> ItemPipelineManager:
        """Those of one of several spiders; of None, for whose items it is this object's, itself."""
        if owner is None or owner.spider is None:
            return self
        if owner not in self._of:  # it came while the crawl runs
            self._of[owner] = ItemPipelineManager(*self.middlewares, crawler=owner.spider.crawler)
        return self._of[owner]

    async def process_item_async(self, item: Any) -> Any:
        manager = self.of(current.get())
        if manager is self:
            return await super().process_item_async(item)
        return await manager.process_item_async(item)

    async def open_spider_async(self) -> None:
        await super().open_spider_async()
        for manager in self._own:
            await manager.open_spider_async()

    async def close_spider_async(self) -> None:
        for manager in self._own:
            await manager.close_spider_async()
        await super().close_spider_async()
