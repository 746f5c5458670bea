"""``scrapy parse URL``: Scrapy's command, which also follows ``Links`` and passes its URL to the spider as a seed."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from scrapy import Request
from scrapy.commands import parse

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Iterable, Iterator

    from scrapy import Spider
    from scrapy.exceptions import CloseSpider

    from crawlproject.links import Links


class Command(parse.Command):
    """Shows and follows the requests into which the frontier would turn links."""

    def set_spidercls(self, url: str, opts: argparse.Namespace) -> None:
        """See ``parse.Command``; ``url`` is the seed of spiders with ``seeds``, and the start of ``keyword``."""
        super().set_spidercls(url, opts)
        if self.spidercls is None:
            return
        if "seeds" in inspect.signature(self.spidercls).parameters:
            opts.spargs.setdefault("seeds", url)
        elif "start" in getattr(self.spidercls, "known_arguments", ()):
            opts.spargs.setdefault("start", url)

    def iterate_spider_output(self, result: Any) -> Any:
        """See ``parse.Command``; ``CloseSpider`` of a generator ends the command and keeps what was yielded before."""
        if inspect.isasyncgen(result):
            return super().iterate_spider_output(self._until_closed_async(result))
        return super().iterate_spider_output(self._until_closed(result) if inspect.isgenerator(result) else result)

    async def _until_closed_async(self, outputs: AsyncIterator[Any]) -> AsyncIterator[Any]:
        from scrapy.exceptions import CloseSpider

        try:
            async for output in outputs:
                yield output
        except CloseSpider as end:
            self._close(end)

    def _until_closed(self, outputs: Iterable[Any]) -> Iterator[Any]:
        from scrapy.exceptions import CloseSpider

        try:
            yield from outputs
        except CloseSpider as end:
            self._close(end)

    def _close(self, end: CloseSpider) -> None:
        from scrapy.utils.defer import _schedule_coro

        engine = self.pcrawler.engine
        assert engine is not None
        _schedule_coro(engine.close_spider_async(reason=end.reason or "cancelled"))

    def _get_items_and_requests(
        self, spider_output: Iterable[Any], opts: argparse.Namespace, depth: int, spider: Spider, callback: Any
    ) -> Any:
        from crawlproject.links import Links

        outputs = [
            one
            for output in spider_output
            for one in (_requests(output, spider) if isinstance(output, Links) else (output,))
        ]
        return super()._get_items_and_requests(outputs, opts, depth, spider, callback)


def _requests(links: Links, spider: Spider) -> Iterator[Request]:
    """The links that a new frontier would queue: without regard to seen URLs and known servers."""
    from crawlproject.discovery.links import link_filter
    from crawlproject.options.following import LinkOptions

    assert links.response is not None
    encoding = getattr(links.response, "encoding", "utf-8")
    canonicalizer = LinkOptions.of(spider.crawler).canonicalizer
    reason_to_skip = link_filter(spider.crawler).reason
    urls = canonicalizer.batch(links.hrefs, links.base or links.response.url, encoding)
    for url in dict.fromkeys(urls):
        if url is not None and reason_to_skip(url) is None:
            yield Request(url, callback=links.callback, meta={"verbatim_url": True})
