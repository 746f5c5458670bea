"""The process of a test crawl: ``python -m tests.crawl.runner JOB``, see ``crawling``."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from pkgutil import resolve_name

from scrapy.core.engine import ExecutionEngine
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.downloadermiddlewares import cookies
from scrapy.utils.misc import load_object
from tldextract import TLDExtract

from testbed.children import memory

# Scrapy alone would fetch the list of public suffixes from the network; use the one included in tldextract.
cookies._split_domain = TLDExtract(include_psl_private_domains=True, suffix_list_urls=(), cache_dir=None)


def main() -> None:
    """Run the job."""
    job = json.loads(sys.argv[1])
    folder = Path(job["folder"])
    settings = {
        "LOG_LEVEL": "DEBUG",
        "LOG_VERSIONS": [],  # a tenth of the CPU time of a small crawl
        "TELNETCONSOLE_ENABLED": False,
        "REMOTE_CONTROL_ENABLED": False,
        "FRONTIER_ALLOWED_NETWORKS": "127.0.0.0/8",
        "COOKIES_ENABLED": False,  # with cookies, no page would take the fast lane
        "FEEDS": {str(folder / "items.jsonl"): {"format": "jsonlines"}},
    }
    if job["addon"]:
        settings["FRONTIER_FAST_LANE"] = os.environ.get("TEST_FAST_LANE", "auto")
        settings["ADDONS"] = {"crawlproject.addon.FrontierAddon": 300}
    if "TEST_HEARTBEAT" in job["settings"]:
        ExecutionEngine._SLOT_HEARTBEAT_INTERVAL = job["settings"]["TEST_HEARTBEAT"]
    for name, value in job["settings"].get("TEST_CONSTANTS", {}).items():
        owner, _, attribute = name.rpartition(".")
        setattr(resolve_name(owner), attribute, value)
    sys.path[:0] = job["settings"].get("TEST_PATH", [])
    process = AsyncCrawlerProcess({**settings, **job["settings"]})
    crawler = process.create_crawler(load_object(job["spider"]))
    process.crawl(crawler, **job["arguments"])
    process.start()
    if crawler.stats is not None:  # no signal handler sets another now
        (folder / "stats.json").write_text(json.dumps(crawler.stats.get_stats(), default=str))
    used = {"peak_memory": round(memory("VmHWM") * 1024**2), "cpu_time": time.process_time()}
    (folder / "used.json").write_text(json.dumps(used))
    if process.bootstrap_failed:  # as in `scrapy crawl`
        sys.exit(1)


if __name__ == "__main__":
    main()
