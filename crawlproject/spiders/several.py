"""Several spiders in one crawl: ``scrapy crawl web -a spiders=shop,news`` (docs/spiders.md)."""

from __future__ import annotations

import asyncio
import importlib
import logging
import pkgutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider, signals
from scrapy.exceptions import CloseSpider
from scrapy.settings import BaseSettings
from scrapy.spiderloader import get_spider_loader
from scrapy.utils.asyncio import call_later
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.spider import iter_spider_classes

from crawlproject.compat import engine_of
from crawlproject.discovery.link_rules import allowed_entries, readable_domains
from crawlproject.engine import Crawl, stats_of
from crawlproject.options import by_domain
from crawlproject.options.by_domain import DomainOptions, OwnSettings
from crawlproject.requests.owners import Owner, Owners, current
from crawlproject.urls.link_filter import is_domain
from crawlproject.urls.server_key import server_name

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Mapping

    from scrapy.crawler import Crawler


logger = logging.getLogger(__name__)

#: Value of ``spiders`` for each spider of the project that has ``allowed_domains``.
ALL = "all"

#: ``ITEM_PROCESSOR`` of such a crawl.
PIPELINES = "crawlproject.middlewares.spiders.PipelinesBySpider"

#: This package, whose own spiders ``ALL`` leaves out.
_OURS = __name__.partition(".")[0]


class CrawlerView:
    """The crawler as one of several spiders sees it: its own ``settings``, and an engine that closes only it."""

    def __init__(self, crawler: Crawler, owners: Owners, kind: type[Spider], settings: BaseSettings) -> None:
        self._whole, self._owners = crawler, owners
        self.spidercls, self.settings = kind, settings
        self.spider: Spider | None = None
        Crawl.of(crawler).share(self)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._whole, name)

    @property
    def engine(self) -> Any:
        """That of the crawl."""
        return _EngineView(self)


class _EngineView:
    def __init__(self, crawler: CrawlerView) -> None:
        self._crawler = crawler

    def __getattr__(self, name: str) -> Any:
        return getattr(self._crawler._whole.engine, name)

    def close_spider(self, spider: Spider, reason: str = "cancelled") -> None:
        owner = self._crawler._owners.get(spider.name)
        if owner is not None:
            self._crawler._owners.end(owner, reason)

    async def close_spider_async(self, *, reason: str = "cancelled") -> None:
        assert self._crawler.spider is not None
        self.close_spider(self._crawler.spider, reason)


class Several:
    """Makes, starts, ends and reloads the spiders ``names`` (comma-separated, or ``all``).

    ``arguments``: ``NAME.ARGUMENT`` -> its value.
    """

    def __init__(self, crawler: Crawler, names: str, arguments: Mapping[str, str]) -> None:
        """Make them. Raises ValueError for a spider that cannot be one of several."""
        self._crawler = crawler
        self._owners = Crawl.of(crawler).part(Owners)
        self._arguments = arguments
        self._is_all = names.strip() == ALL
        self._names = {name: None for each in names.split(",") if (name := each.strip())}
        self._starting: dict[Owner | None, asyncio.Task[None]] = {}
        self._modules = _Modules(crawler.settings.getlist("SPIDER_MODULES"))
        classes = dict(self._classes())
        for name, value in arguments.items():
            if (spider := name.partition(".")[0]) not in classes:
                raise ValueError(f"{name}={value!r:.200}: the spider {spider} is not in spiders")
        made = dict(self._make(name, kind) for name, kind in classes.items())
        for owner in made:
            self._owners.put(owner)
        for one, off in by_domain.switch(made, crawler.settings).items():
            (self._owners.meta_of_others if one is None else one.meta).update(off)
        crawler.settings.set("ITEM_PROCESSOR", PIPELINES, priority="addon")
        self._views = [owner.spider.crawler for owner in made if owner.spider is not None]
        self._owners.tell_ends(self._ended)
        crawler.signals.connect(self._opened, signals.spider_opened)
        crawler.signals.connect(self._closed, signals.spider_closed)

    def _classes(self) -> Iterator[tuple[str, type[Spider]]]:
        loader = get_spider_loader(self._crawler.settings)
        known = loader.list()
        for name in known if self._is_all else self._names:
            if name not in known:
                raise ValueError(f"spiders: there is no spider {name!r}; known spiders: {', '.join(known)}")
            kind = loader.load(name)
            if not self._is_all or _is_wanted(kind):
                yield name, kind

    def _make(self, name: str, kind: type[Spider], view: CrawlerView | None = None) -> tuple[Owner, BaseSettings]:
        """A spider with its settings. Raises ValueError."""
        crawl = self._crawler.settings
        is_plain = kind.update_settings.__func__ is Spider.update_settings.__func__  # type: ignore[attr-defined]
        # another one may change what is in a setting
        settings = OwnSettings(crawl) if is_plain else BaseSettings(crawl.copy())
        kind.update_settings(settings)
        if view is None:
            view = CrawlerView(self._crawler, self._owners, kind, settings)
        view.spidercls, view.settings = kind, settings
        start = f"{name}."
        arguments = {key.removeprefix(start): each for key, each in self._arguments.items() if key.startswith(start)}
        try:
            spider = kind.from_crawler(view, **arguments)  # type: ignore[arg-type]  # all that spiders use
        except Exception as error:
            raise ValueError(f"the spider {name} cannot be made: {type(error).__name__}: {error}") from error
        view.spider = spider
        entries = allowed_entries(spider)[1]
        if not entries:
            raise ValueError(f"the spider {name} has no allowed_domains: it cannot be one of several")
        bad = [entry for entry in entries if not is_domain(entry)]
        if bad:
            told = f"the spider {name}: allowed_domains: {bad[0]!r:.100} is not a domain"
            if len(bad) == len(entries):
                raise ValueError(told)
            logger.warning("%s: %d such entries are ignored", told, len(bad))
        names = by_domain.changed(settings, crawl)
        by_domain.check(name, names)
        try:
            options = DomainOptions.of(spider, settings, names)
        except (ValueError, TypeError) as error:
            raise ValueError(f"the spider {name}: {error}") from error
        owner = Owner(name, spider, frozenset(map(server_name, readable_domains(entries))))
        owner.meta, owner.headers, owner.limits = options.meta, options.headers, options.limits
        owner.depth_limit, owner.has_pipelines = options.depth_limit, options.has_pipelines
        if options.slot and not crawl.frozen:
            slots = crawl.getdict("DOWNLOAD_SLOTS")
            crawl.set("DOWNLOAD_SLOTS", {**dict.fromkeys(owner.domains, options.slot), **slots}, priority="spider")
        return owner, settings

    @property
    def domains(self) -> list[str]:
        """Of all of them."""
        return [domain for owner in self._owners for domain in owner.domains]

    async def started(self, own: AsyncIterator[Any]) -> AsyncIterator[Any]:
        """What ``start`` of each spider yields, and ``own``, in turn: none of them keeps the others waiting."""
        outputs: asyncio.Queue[tuple[Owner | None, Any, bool]] = asyncio.Queue(maxsize=1)
        spiders = [(owner, owner.spider.start()) for owner in self._owners if owner.spider is not None]
        self._starting = {
            owner: asyncio.create_task(self._feed(owner, start, outputs)) for owner, start in [(None, own), *spiders]
        }
        left = len(self._starting)
        while left:
            owner, output, is_end = await outputs.get()
            if is_end:
                left -= 1
                if output is not None and owner is None:
                    raise output
            elif owner is None or not owner.ended:
                current.set(owner)
                yield output
        current.set(None)

    async def _feed(
        self, owner: Owner | None, start: AsyncIterator[Any], outputs: asyncio.Queue[tuple[Owner | None, Any, bool]]
    ) -> None:
        """Put what ``start`` yields, with False, and at its end its error or None, with True."""
        failed: Exception | None = None
        try:
            async for output in start:
                await outputs.put((owner, output, False))
        except asyncio.CancelledError:
            if owner is None or not owner.ended:
                raise
        except CloseSpider as error:
            failed = error
            if owner is not None:
                self._owners.end(owner, error.reason or "cancelled")
        except Exception as error:
            failed = error
            if owner is not None:
                logger.exception("Error in the start of the spider %s: its other pages go on", owner.name)
                stat = f"spiders/{owner.name}/errors"
                stats_of(self._crawler).set_value(stat, self._owners.count(owner, "errors"))
        await outputs.put((owner, failed, True))

    def reload(self) -> list[str]:
        """Load new and changed classes for the pages fetched from now on; returns what happened, a line for each.

        A mistake leaves the old spider in force.  A spider that is new in ``all`` starts.
        """
        classes, errors = self._modules.changed()
        told = [f"{name}: not loaded, the old one stays: {error}" for name, error in errors.items()]
        for kind in classes:
            name = kind.name
            known = self._owners.get(name)
            if known is None and not (name in self._names or (self._is_all and _is_wanted(kind))):
                continue
            view: Any = None if known is None or known.spider is None else known.spider.crawler
            try:
                owner, settings = self._make(name, kind, view)
                if owner.has_pipelines and not (known and known.has_pipelines):
                    raise ValueError("ITEM_PIPELINES: cannot be added while the crawl runs")
                owner.meta.update(by_domain.switched_off(settings, self._crawler.settings))
                self._owners.put(owner)
            except ValueError as error:
                told.append(f"{name}: not loaded, the old one stays: {error}")
                continue
            told.append(f"{name}: {'loaded' if known is None else 'reloaded'}")
            if known is None:
                self._starting[owner] = asyncio.create_task(self._start_late(owner))
        return told

    async def _start_late(self, owner: Owner) -> None:
        assert owner.spider is not None
        engine = engine_of(self._crawler)
        assert engine is not None
        try:
            async for output in owner.spider.start():
                if owner.ended:
                    return
                links = [Request(url, callback=output.callback) for url in getattr(output, "hrefs", ())]
                for request in [output] if isinstance(output, Request) else links:  # items are left out
                    engine.crawl(request)
                await asyncio.sleep(0)
        except Exception:
            logger.exception("Error in the start of the spider %s", owner.name)

    def _opened(self) -> None:
        for view in self._views:
            if not isinstance(view.settings, OwnSettings):
                view.settings.update(self._crawler.settings)  # what add-ons have set
        for owner in self._owners:
            if by_domain.TIME in owner.limits:
                seconds, reason = owner.limits[by_domain.TIME]
                call_later(seconds, self._owners.end, owner, reason)

    def _ended(self, owner: Owner) -> None:
        """One has ended before the crawl."""
        logger.info("The spider %s has ended (%s); its queued URLs are dropped", owner.name, owner.ended)
        stats_of(self._crawler).set_value(f"spiders/{owner.name}/finish_reason", owner.ended)
        if (task := self._starting.get(owner)) is not None and not task.done():
            task.cancel()
        self._tell_closed(owner, owner.ended)

    def _closed(self, reason: str) -> None:
        for task in self._starting.values():
            task.cancel()
        for owner in self._owners:
            if not owner.ended:
                self._tell_closed(owner, reason)

    @staticmethod
    def _tell_closed(owner: Owner, reason: str) -> None:
        """Call ``closed`` of a spider, as Scrapy does for the crawl's own."""
        if owner.spider is None:
            return
        try:
            result = owner.spider.close(owner.spider, reason)
            if result is not None:
                deferred_from_coro(result)
        except Exception:
            logger.exception("Error in closed() of the spider %s", owner.name)


def _is_wanted(kind: type[Spider]) -> bool:
    """Whether ``spiders=all`` means it, too."""
    return bool(getattr(kind, "allowed_domains", None)) and kind.__module__.partition(".")[0] != _OURS


class _Modules:
    """The modules in the packages ``names`` (``SPIDER_MODULES``), imported so far."""

    def __init__(self, names: Iterable[str]) -> None:
        self._packages = tuple(names)
        self._seen = {name: _changed_at(name) for name in self._names()}

    def changed(self) -> tuple[list[type[Spider]], dict[str, str]]:
        """The spider classes of modules that are new, or have changed since the last call; module -> why it cannot be
        loaded. A module that raises is loaded again when it changes again.
        """
        importlib.invalidate_caches()
        classes: list[type[Spider]] = []
        errors: dict[str, str] = {}
        for name in self._names():
            at = _changed_at(name)
            if name in self._seen and at == self._seen[name]:
                continue
            self._seen[name] = at
            known = sys.modules.get(name)
            try:
                module = importlib.import_module(name) if known is None else importlib.reload(known)
            except Exception as error:  # noqa: BLE001 - whatever it raises, the old classes stay in force
                errors[name] = f"{type(error).__name__}: {error}"
            else:
                classes += iter_spider_classes(module)
        return classes, errors

    def _names(self) -> Iterator[str]:
        for name in self._packages:
            package: Any = sys.modules.get(name)
            yield name
            for found in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{name}.", onerror=lambda _: None):
                yield found.name


def _changed_at(name: str) -> tuple[int, int] | None:
    """When its file was changed, and its size; None for what has none."""
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if file is None:
        return None
    try:
        status = Path(file).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
