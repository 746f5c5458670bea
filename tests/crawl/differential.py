"""One spider, one script, two crawls: with the add-on and with Scrapy's own scheduler."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from tests.crawl.crawling import IMPOLITE, Crawl, crawl
from tests.crawl.scripted_site import Script, Site, scripted_site

SPIDERS = "tests.crawl.ordinary_spiders"

#: Failing servers are also retried at once.
QUICK = {**IMPOLITE, "FRONTIER_MIN_BACKOFF": 0.01, "FRONTIER_MAX_BACKOFF": 0.02}

#: As in a project with scrapy-playwright or scrapy-impersonate, whose handlers are subclasses of it.
OWN_HANDLER = {"DOWNLOAD_HANDLERS": {"http": "scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler"}}


@dataclass
class Run:
    """A crawl of a scripted site: its results and what the servers saw."""

    crawl: Crawl
    site: Site

    def items(self, case: str | None = None) -> list[dict[str, Any]]:
        """The items, or those of a case, URLs as places, sorted."""
        items = json.loads(self.site.short(json.dumps(self.crawl.items)))
        return sorted((item for item in items if case in (None, item.get("case"))), key=json.dumps)

    def asked(self, server: int | None = None) -> Counter[str]:
        return Counter(self.site.places(server))

    def stat(self, name: str) -> Any:
        """A stat, 0 if it was never set."""
        return self.crawl.stat(name)

    @property
    def reason(self) -> str:
        """The reason for the end of the crawl; its log if it has none."""
        return str(self.crawl.stats.get("finish_reason", self.crawl.log))

    def has_errors(self) -> bool:
        return self.stat("log_count/ERROR") > 0 or "Traceback" in self.crawl.log


def run(  # a script is a mapping, or a function of the site
    spider: str,
    script: Script | Callable[[Site], Script],
    *,
    servers: int = 1,
    settings: dict[str, Any] | None = None,
    addon: bool = True,
    **arguments: str,
) -> Run:
    """Crawl a scripted site with a spider of ``ordinary_spiders``; it is told the servers' origins as ``sites``."""
    with scripted_site(servers) as site:
        site.script = script(site) if callable(script) else script
        return run_on(site, spider, settings=settings, addon=addon, **arguments)


def run_on(
    site: Site, spider: str, *, settings: dict[str, Any] | None = None, addon: bool = True, **arguments: str
) -> Run:
    path = spider if "." in spider else f"{SPIDERS}.{spider}"
    settings = QUICK if settings is None else settings
    if not path.startswith("crawlproject."):  # these spiders refuse unknown arguments
        arguments["sites"] = ",".join(site.origins)
    return Run(crawl(path, settings=settings, addon=addon, **arguments), site)


def both(
    spider: str,
    script: Callable[[Site], Script],
    *,
    servers: int = 1,
    settings: dict[str, Any] | None = None,
    **arguments: str,
) -> tuple[Run, Run]:
    """The same crawl with the add-on and without it, in parallel, each on its own servers."""

    def one(addon: bool) -> Run:
        more = {**(QUICK if addon else {}), **(settings or {})}
        return run(spider, script, servers=servers, settings=more, addon=addon, **arguments)

    with ThreadPoolExecutor(2) as pool:
        ours, stock = pool.map(one, (True, False))
    return ours, stock
