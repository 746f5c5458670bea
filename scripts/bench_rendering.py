#!/usr/bin/env python3
"""Pages rendered per second, CPU and memory: a crawl of small applications on several servers of this machine.

    scripts/bench_rendering.py --servers 8 --pages 20 --at-once 4

Each page is built by a script from the answer to one fetch; the script is shared by all pages of a server.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import psutil
from scrapy.crawler import AsyncCrawlerProcess

from crawlproject.spiders.web import WebSpider

PAGE = """<!doctype html><title>shop</title><div id="root"></div><script src="/app.js"></script>"""
SCRIPT = """
fetch('/api' + location.pathname).then(answer => answer.json()).then(record => {
    const rows = record.rows.map(row => `<tr><td>${row}</td><td>${row * 2}</td></tr>`).join('');
    const links = record.links.map(link => `<a href="${link}">${link}</a>`).join(' ');
    document.getElementById('root').innerHTML = `<h1>${record.title}</h1><table>${rows}</table><p>${links}</p>`;
});
"""


class Shop(BaseHTTPRequestHandler):
    """An application of ``pages`` pages, each linked from the first."""

    protocol_version = "HTTP/1.1"
    pages = 0

    def do_GET(self) -> None:
        """Answer."""
        kind, body = "text/html", PAGE
        if self.path == "/app.js":
            kind, body = "text/javascript", SCRIPT
        elif self.path.startswith("/api/"):
            links = [f"/{number}" for number in range(1, self.pages)] if self.path == "/api/" else []
            record = {"title": self.path, "rows": list(range(100)), "links": links}
            kind, body = "application/json", json.dumps(record)
        elif self.path == "/robots.txt":
            kind, body = "text/plain", ""
        self.send_response_only(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self._headers_buffer.append(b"\r\n" + body.encode())  # in one packet
        self.wfile.write(b"".join(self._headers_buffer))
        self._headers_buffer = []

    def log_message(self, *_: object) -> None:
        """Nothing."""


class Memory(threading.Thread):
    """Watches the memory of this process and of all below it, shared pages counted once."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most = self.most_own = 0
        self.ended = threading.Event()

    def run(self) -> None:
        """Look twice a second."""
        me = psutil.Process()
        while not self.ended.wait(0.5):
            processes = [me, *me.children(recursive=True)]
            self.most = max(self.most, sum(map(proportional, processes)))
            self.most_own = max(self.most_own, proportional(me))


def proportional(process: psutil.Process) -> int:
    """Proportional set size, bytes."""
    try:
        return int(process.memory_full_info().pss)
    except psutil.Error:
        return 0


def main() -> None:
    """Crawl and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--servers", type=int, default=8)
    parser.add_argument("--pages", type=int, default=20, help="of each server")
    parser.add_argument("--at-once", type=int, default=4, help="RENDER_PAGES")
    parser.add_argument("--mode", default="always", help="RENDER")
    parser.add_argument("--quiet", type=float, default=0.5, help="RENDER_QUIET")
    options = parser.parse_args()
    Shop.pages = options.pages
    servers = [ThreadingHTTPServer((f"127.4.1.{number}", 0), Shop) for number in range(1, options.servers + 1)]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    seeds = ",".join(f"http://{server.server_address[0]}:{server.server_address[1]}/" for server in servers)
    process = AsyncCrawlerProcess(
        {
            "ADDONS": {"crawlproject.addon.FrontierAddon": 300},
            "ALLOWED_NETWORKS": "127.4.0.0/16",
            "FRONTIER_MIN_DELAY": 0,
            "FRONTIER_DELAY_FACTOR": 0,
            "RENDER": options.mode,
            "RENDER_PAGES": options.at_once,
            "RENDER_QUIET": options.quiet,
            "LOG_LEVEL": "WARNING",
            "TELNETCONSOLE_ENABLED": False,
        }
    )
    crawler = process.create_crawler(WebSpider)
    process.crawl(crawler, seeds=seeds)
    memory = Memory()
    memory.start()
    started, own = time.monotonic(), time.process_time()
    process.start()
    elapsed, own = time.monotonic() - started, time.process_time() - own
    memory.ended.set()
    below = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = below.ru_utime + below.ru_stime
    assert crawler.stats is not None
    pages = crawler.stats.get_value("web/pages", 0)
    rendered = crawler.stats.get_value("render/pages", 0)
    print(f"pages {pages}, rendered {rendered}, {elapsed:.1f} s: {pages / elapsed:.2f} pages/s")
    print(f"CPU per page: this process with the servers {own / pages * 1e3:.0f} ms, browser {cpu / pages * 1e3:.0f} ms")
    print(f"memory: all {memory.most / 1e6:.0f} MB, this process {memory.most_own / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
