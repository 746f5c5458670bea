"""The process of a test crawl: ``python -m tests.crawl.runner JOB``, see ``crawling``."""

from __future__ import annotations

import json
import sys
from pathlib import Path

from scrapy.crawler import AsyncCrawlerProcess
from scrapy.downloadermiddlewares import cookies
from scrapy.utils.misc import load_object
from tldextract import TLDExtract

# Scrapy's cookies would fetch the public suffix list from the network; the one that comes with tldextract will do.
cookies._split_domain = TLDExtract(include_psl_private_domains=True, suffix_list_urls=(), cache_dir=None)


class WriteStats:
    """Extension: leaves the stats in a file when the spider is closed."""

    def __init__(self, crawler: object) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: object) -> WriteStats:
        from scrapy import signals

        extension = cls(crawler)
        crawler.signals.connect(extension.spider_closed, signals.spider_closed)
        return extension

    def spider_closed(self) -> None:
        stats = self.crawler.stats.get_stats()
        Path(self.crawler.settings["TEST_STATS_FILE"]).write_text(json.dumps(stats, default=str))


def main() -> None:
    """Run the job."""
    job = json.loads(sys.argv[1])
    folder = Path(job["folder"])
    settings = {
        "LOG_LEVEL": "DEBUG",
        "TELNETCONSOLE_ENABLED": False,
        "REMOTE_CONTROL_ENABLED": False,
        "EXTENSIONS": {"tests.crawl.runner.WriteStats": 0},
        "TEST_STATS_FILE": str(folder / "stats.json"),
        "ALLOWED_NETWORKS": "127.0.0.0/8",
        "FEEDS": {str(folder / "items.jsonl"): {"format": "jsonlines"}},
    }
    if job["addon"]:
        settings["ADDONS"] = {"crawlproject.addon.FrontierAddon": 300}
    process = AsyncCrawlerProcess({**settings, **job["settings"]})
    process.crawl(load_object(job["spider"]), **job["arguments"])
    process.start()
    if process.bootstrap_failed:  # as `scrapy crawl` has it
        sys.exit(1)


if __name__ == "__main__":
    main()
