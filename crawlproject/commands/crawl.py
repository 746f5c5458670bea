"""``scrapy crawl``: Scrapy's command, with an exit code for crawls that ended because of a failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.commands import crawl

if TYPE_CHECKING:
    from argparse import Namespace

    from scrapy import Spider
    from scrapy.crawler import Crawler


#: Closing reasons of crawls that could not go on; spiders have their own (``spiders.web.FAILED``).
FAILED = ("store_failed", "repository_failed", "records_failed", "worker_failed")
#: Closing reason and exit code of a worker whose crawl is no longer in Redis: a restart would begin it from nothing.
LOST, LOST_CODE = "redis_lost", 3


class Command(crawl.Command):
    """For an unknown spider, also says which was meant, or how to get it."""

    def process_options(self, args: list[str], opts: Namespace) -> None:
        """See ``ScrapyCommand``; with ``LOG_FORMAT_JSON`` the first line is JSON, too."""
        from crawlproject.commands.early import add_parquet, log_as_set

        assert self.settings is not None
        add_parquet(self.settings)
        super().process_options(args, opts)
        log_as_set(self.settings)

    def run(self, args: list[str], opts: Namespace) -> None:
        from crawlproject.commands.early import interrupted

        self._reason: str | None = None
        self._has_failed = False
        try:
            super().run(args, opts)
        except KeyboardInterrupt:  # later, Scrapy handles the signal
            self.exitcode = interrupted("crawl")
            return
        reason = self._reason
        if self.exitcode or (reason in (None, "finished") and not self._has_failed):
            return
        from crawlproject.spiders.web import FAILED as FAILED_SPIDERS

        if reason == LOST:
            self.exitcode = LOST_CODE
        elif self._has_failed or reason in FAILED or reason in FAILED_SPIDERS:  # the last commit comes after the reason
            self.exitcode = 1

    def _create_crawler(self, spidercls: type[Spider] | str) -> Crawler:
        from crawlproject.commands.early import unknown_spider
        from crawlproject.signals import commit_failed

        assert self.crawler_process is not None
        names = self.crawler_process.spider_loader.list()
        if isinstance(spidercls, str) and spidercls not in names:
            assert self.settings is not None
            raise unknown_spider(spidercls, names, self.settings.getlist("SPIDER_MODULES"))
        crawler = super()._create_crawler(spidercls)
        crawler.signals.connect(self._closed, signals.spider_closed)
        crawler.signals.connect(self._commit_failed, commit_failed)
        return crawler

    def _closed(self, reason: str) -> None:
        self._reason = reason

    def _commit_failed(self) -> None:
        self._has_failed = True
