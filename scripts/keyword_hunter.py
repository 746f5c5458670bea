"""Looks for a keyword on the page START_URL, then on the pages it links to, and so on, up to level 5.

scripts/KeywordHunter START_URL KEYWORD [OUTPUT_DIR]

Prints where the keyword was found, or that it was not; exit code 0 for both. Exit code 1: bad arguments, no page could
be fetched, or the search was interrupted. For addresses outside the public Internet:
FRONTIER_ALLOWED_NETWORKS=127.0.0.0/8 scripts/KeywordHunter ...
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.setdefault("SCRAPY_SETTINGS_MODULE", "crawlproject.settings")

from scrapy.crawler import AsyncCrawlerProcess
from scrapy.utils.project import get_project_settings

from crawlproject.spiders.keyword import FOUND, NOT_FOUND, KeywordSpider

USAGE = "usage: KeywordHunter START_URL KEYWORD [OUTPUT_DIR]"


def main(arguments: list[str]) -> int:
    """Search; returns the exit code."""
    if arguments[:1] in (["-h"], ["--help"]):
        print(USAGE)
        return 0
    if len(arguments) not in (2, 3) or "" in arguments:
        print(USAGE, file=sys.stderr)
        return 1
    names = dict(zip(("start", "keyword", "output"), arguments, strict=False))
    try:
        KeywordSpider(**names)
    except ValueError as error:
        reason = " ".join(str(error).split()).encode("utf-8", "replace").decode()
        print(f"KeywordHunter: {reason}\n{USAGE}", file=sys.stderr)
        return 1
    settings = get_project_settings()
    settings.set("LOG_LEVEL", "ERROR")
    settings.set("FRONTIER_ALLOWED_NETWORKS", os.environ.get("FRONTIER_ALLOWED_NETWORKS", ""))
    process = AsyncCrawlerProcess(settings)
    crawler = process.create_crawler(KeywordSpider)
    process.crawl(crawler, **names)
    process.start()
    spider = crawler.spider
    if process.bootstrap_failed or not isinstance(spider, KeywordSpider) or crawler.stats is None:
        return 1
    pages = crawler.stats.get_value("keyword/pages", 0)
    if not pages:
        return 1
    reason = crawler.stats.get_value("finish_reason", "stopped")
    if reason not in (FOUND, NOT_FOUND):
        print(f"KeywordHunter: interrupted ({reason}) on level {spider.level}, after {pages} pages", file=sys.stderr)
        return 1
    sys.stdout.reconfigure(encoding="utf-8", errors="replace")
    if spider.lines:
        print(f"found on level {spider.level}, after {pages} pages: {spider.lines[0][0]}")
        for _, found in spider.lines:
            print(f"line {found.line}: {found.text}")
    else:
        print(f"not found on {pages} pages of {spider.level} levels")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
