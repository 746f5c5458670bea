"""Serves the generated sites until SIGTERM or SIGINT, then says what was fetched of each, and what was lost.

python -m testbed.data_sites --port 8100 --seeds seeds.txt --log requests.jsonl --only 'calendar-*'

"""

from __future__ import annotations

import argparse
import asyncio
import signal
from contextlib import nullcontext
from fnmatch import fnmatch
from pathlib import Path

from testbed.data_sites import sites
from testbed.data_sites.server import DataWeb


def main() -> None:
    """Read the options and serve."""
    parser = argparse.ArgumentParser(prog="python -m testbed.data_sites", description="Generated sites on loopback.")
    parser.add_argument("--port", type=int, default=0, help="of all sites (0: a free one)")
    parser.add_argument("--only", nargs="+", default=["*"], metavar="NAME", help="sites by name, or a pattern of names")
    parser.add_argument("--seeds", type=Path, metavar="FILE", help="write the URLs of all home pages to FILE")
    parser.add_argument("--log", type=Path, metavar="FILE", help="write [site, path, status] per request to FILE")
    parser.add_argument("--list", action="store_true", help="say what varies in each site, and end")
    options = parser.parse_args()
    chosen = {name: site for name, site in sites().items() if any(fnmatch(name, each) for each in options.only)}
    if options.list:
        for name, site in chosen.items():
            print(f"{name:24}{len(site.real):5} pages  {site.kind}")
        return
    with options.log.open("w", encoding="utf-8") if options.log else nullcontext() as log:
        web = DataWeb(chosen, log)
        asyncio.run(_serve(web, options.port, options.seeds))
    _report(web)


async def _serve(web: DataWeb, port: int, seeds: Path | None) -> None:
    stopped, loop = asyncio.Event(), asyncio.get_running_loop()
    for each in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(each, stopped.set)
    async with web.serving(port) as urls:
        if seeds is not None:
            seeds.write_text("".join(f"{url}\n" for url in urls.values()), encoding="utf-8")
        print(f"{len(urls)} sites, from {next(iter(urls.values()))}", flush=True)
        await stopped.wait()


def _report(web: DataWeb) -> None:
    print(f"{'site':24}{'pages':>7}{'lost':>7}{'requests':>10}{'beyond':>8}{'budget':>8}")
    for name, site in web.sites.items():
        visits = web.visits(name)
        too_many = visits.beyond > site.budget and not site.is_maze
        marks = [f"lost {visits.lost[0]}"] if visits.lost else []
        marks += ["too many"] if too_many else []
        marks += [f"{path} x {count}" for path, count in visits.repeated[:1]]
        numbers = f"{len(site.real):7}{len(visits.lost):7}{visits.requests:10}{visits.beyond:8}{site.budget:8}"
        print(f"{name:24}{numbers}  {'; '.join(marks)}")
    lost = sum(len(web.visits(name).lost) for name in web.sites)
    print(f"{lost} of {sum(len(site.real) for site in web.sites.values())} real pages lost")


if __name__ == "__main__":
    main()
