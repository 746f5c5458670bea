"""The floor of the benchmarks: a loop of aiohttp and selectolax that fetches pages, reads their links and follows them.

It has none of what a crawl of strangers' servers needs: no robots.txt, no politeness, no ranks, limits, retries or
checks of addresses, no duplicates, and nothing that survives an error or a restart.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any
from urllib.parse import urldefrag, urljoin

import aiohttp
from selectolax.lexbor import LexborHTMLParser

from testbed.children import memory

CONNECTIONS = 64


async def crawl(seeds: list[str]) -> int:
    """Fetch all pages that can be reached from ``seeds``; returns their number."""
    seen, pages = set(seeds), 0
    queue: asyncio.Queue[str] = asyncio.Queue()
    for seed in seeds:
        queue.put_nowait(seed)

    async def work(client: aiohttp.ClientSession) -> None:
        nonlocal pages
        while True:
            url = await queue.get()
            try:
                async with client.get(url) as response:
                    text = await response.text()
                    if response.status == 200:
                        pages += 1
                        tree = LexborHTMLParser(text)
                        title = tree.css_first("title")
                        _item = {"url": url, "title": title and title.text()}
                        for node in tree.css("a[href]"):
                            link = urldefrag(urljoin(str(response.url), node.attributes["href"] or "")).url
                            if link not in seen:
                                seen.add(link)
                                queue.put_nowait(link)
            except (aiohttp.ClientError, TimeoutError):
                pass
            finally:
                queue.task_done()

    connector = aiohttp.TCPConnector(limit=CONNECTIONS)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=30)) as client:
        workers = [asyncio.create_task(work(client)) for _ in range(CONNECTIONS)]
        await queue.join()
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
    return pages


def main() -> None:
    """Crawl from the seeds in the arguments and print what `testbed.crawl.CpuTime` counts."""
    cpu, wall = time.process_time(), time.monotonic()
    pages = asyncio.run(crawl(sys.argv[1:]))
    stats: dict[str, Any] = {
        "item_scraped_count": pages,
        "bench/cpu": time.process_time() - cpu,
        "bench/wall": time.monotonic() - wall,
        "bench/peak_memory": memory("VmHWM"),
    }
    print(json.dumps(stats))


if __name__ == "__main__":
    main()
