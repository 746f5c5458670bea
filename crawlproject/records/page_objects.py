"""Items of page objects by domain (``FRONTIER_RECORDS_PAGES``): ``@handle_urls`` of web-poet, inputs by scrapy-poet."""

from __future__ import annotations

import asyncio
import logging
from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from itemadapter import ItemAdapter
from scrapy.exceptions import NotConfigured
from scrapy.http import TextResponse

from crawlproject.engine import stats_of
from crawlproject.options.records import RecordOptions
from crawlproject.options.start_errors import starting
from crawlproject.records.record import Record
from crawlproject.requests.meta import KEEP
from crawlproject.requests.owners import current

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence
    from typing import Self

    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from web_poet import ApplyRule

logger = logging.getLogger(__name__)

#: Bytes of a page up to which page objects read it: they run on the event loop.
MAX_PAGE = 2_000_000


class PageObjectsMiddleware:
    """A spider middleware that adds the items of a page to what its callback yields."""

    def __init__(self, crawler: Crawler, modules: Sequence[str]) -> None:
        # they belong to the extra "records"
        from scrapy_poet.downloadermiddlewares import DEFAULT_PROVIDERS
        from scrapy_poet.injection import Injector
        from url_matcher import URLMatcher
        from web_poet import consume_modules, default_registry

        self._crawler, self._stats = crawler, stats_of(crawler)
        try:
            consume_modules(*modules)
        except ImportError as error:
            raise ValueError(f"FRONTIER_RECORDS_PAGES={','.join(modules)!r}: {error}") from error
        rules = [rule for rule in default_registry.get_rules() if _is_of(rule, modules)]
        if not rules:
            raise ValueError(f"FRONTIER_RECORDS_PAGES={','.join(modules)!r}: no page object with @handle_urls in them")
        self._rules = dict(enumerate(rules))
        _without_network()
        self._matcher = URLMatcher([(number, rule.for_patterns) for number, rule in self._rules.items()])
        self._registry = default_registry
        self._new_injector = partial(Injector, crawler, default_providers=DEFAULT_PROVIDERS, registry=default_registry)
        self._injector: Any = None
        self._logged: set[str] = set()

    @classmethod
    @starting()
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Raises NotConfigured without ``FRONTIER_RECORDS_PAGES``; ValueError if they cannot be imported."""
        modules = RecordOptions.of(crawler).pages
        if not modules:
            raise NotConfigured
        return cls(crawler, modules)

    async def process_spider_output(self, response: Response, result: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """Pass on everything, without records if page objects have items for this URL; then these items.

        Not for pages of one of several spiders.
        """
        items = [item async for item in self._items(response)] if current.get() is None else []
        async for output in result:
            if not (items and isinstance(output, Record)):
                yield output
        for item in () if response.meta.get(KEEP) else items:
            self._stats.inc_value("records/page_objects")
            yield item

    async def _items(self, response: Response) -> AsyncIterator[Any]:
        if not isinstance(response, TextResponse):
            return
        for rule in self._rules_for(response.url):
            if len(response.body) > MAX_PAGE:
                self._stats.inc_value("records/page_objects/too_large")
                return
            try:
                item = await self._item(rule.use, response)
            except (Exception, asyncio.CancelledError) as error:
                if (task := asyncio.current_task()) is not None and task.cancelling():
                    raise
                self._fail(rule.use, response.url, error)
                continue
            if item is not None:
                yield item

    def _rules_for(self, url: str) -> Iterator[ApplyRule]:
        """The first rule for each class of items, in the order of web-poet. O(rules of the domain).

        Patterns without a port are those of the usual ports; here they stand for any port.
        """
        seen: set[Any] = set()
        matching = [*self._matcher.match_all(url)] or [*self._matcher.match_all(_without_port(url))]
        for number in matching:
            rule = self._rules[number]
            wanted = rule.to_return or rule.use
            if wanted not in seen:
                seen.add(wanted)
                yield rule

    async def _item(self, page_class: type, response: TextResponse) -> Any:
        import andi
        from web_poet.pages import is_injectable

        if self._injector is None:  # it needs the crawl's spider
            self._injector = self._new_injector()
        assert response.request is not None
        plan = andi.plan(
            page_class,
            is_injectable=is_injectable,
            externally_provided=self._injector.is_class_provided_by_any_provider,
            overrides=self._registry.overrides_for(response.url).get,
        )
        instances = await self._injector.build_instances(response.request, response, plan)
        page = page_class(**plan.final_kwargs(instances))
        item = await page.to_item()
        if item is not None and not ItemAdapter.is_item(item):
            raise TypeError(f"to_item() returned a {type(item).__name__}, not an item")
        return item

    def _fail(self, page_class: type, url: str, error: BaseException) -> None:
        self._stats.inc_value("records/page_objects/errors")
        name = f"{page_class.__module__}.{page_class.__qualname__}"
        if name not in self._logged:
            self._logged.add(name)
            logger.error("%s raised %s: %.200s on %.200s (logged once)", name, type(error).__name__, error, url)


def _without_port(url: str) -> str:
    parts = urlsplit(url)
    host, _, port = parts.netloc.rpartition(":")
    return parts._replace(netloc=host).geturl() if port.isdecimal() and host else url


def _without_network() -> None:
    """Let url-matcher find domains by the list of suffixes in tldextract: it would fetch a new one, blocking."""
    import tldextract
    from url_matcher import util

    vars(util)["tldextract"] = SimpleNamespace(extract=tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None))


def _is_of(rule: ApplyRule, modules: Sequence[str]) -> bool:
    """Whether a rule's page object is defined in one of ``modules``, or in a module of one of these packages."""
    name = rule.use.__module__
    return any(name == module or name.startswith(f"{module}.") for module in modules)
