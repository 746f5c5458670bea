#!/usr/bin/env python3
"""What FRONTIER_DOMAIN_SHARE costs a crawl of one large platform: when its pages and those of others arrive.

    scripts/bench_domain_share.py [--sites 300] [--others 100] [--pages 15] [--delay 0.3] [--sessions 32]
                                  [--factor 5] [--shares 0.125,1] [--rounds 1] [--seconds 600]

``--sites`` subdomains of one registered domain and ``--others`` domains of one server each, ``--pages`` pages a server.
Each page links to all pages of its server, and to the home pages of ten servers; answers take 0.5 to 1.5 times
``--delay``.  A page is worth the number of pages that link to it, as in the default ranking: home pages most.
"""

from __future__ import annotations

import asyncio
import random
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from testbed.bench import ADDON, QUIET, command_line, crawl
from testbed.tiny_web import TinyWeb, serving

if TYPE_CHECKING:
    from argparse import Namespace

SETTINGS = QUIET | ADDON | {"LOG_LEVEL": "WARNING", "LOGSTATS_INTERVAL": 0}
GOALS = (0.5, 0.8, 0.95, 1.0)


class Web(TinyWeb):
    """All servers at one address, and the name server, in one thread."""

    def __init__(self, sites: int, others: int, pages: int, delay: float) -> None:
        self.names = [f"site{number}.platform.com" for number in range(sites)]
        self.names += [f"other{number}.com" for number in range(others)]
        chosen = random.Random(1)
        self.delays = {name: delay * chosen.uniform(0.5, 1.5) for name in self.names}
        self.linked = {name: chosen.sample(self.names, min(10, len(self.names))) for name in self.names}
        self.pages, self.port = pages, 0
        self.times: dict[tuple[str, str], float] = {}

    def datagram_received(self, data: bytes, addr: object) -> None:
        """Answer a query: each name has the same IPv4 address."""
        self.reply(data, addr, "127.5.9.9")

    async def page(self, host: str, path: str, writer: asyncio.StreamWriter) -> str | None:
        await asyncio.sleep(self.delays[host])
        self.times.setdefault((host, path), time.monotonic())
        return None if path == "/robots.txt" else self.body(host, path)

    def body(self, name: str, path: str) -> str:
        own = "".join(f'<a href="/{"" if number == 0 else number}">x</a>' for number in range(self.pages))
        others = "".join(f'<a href="http://{other}:{self.port}/">x</a>' for other in self.linked[name])
        return f"<title>{name}{path}</title>{own}{others}<p>{random.Random(name + path).random()}"

    def worth(self, place: tuple[str, str]) -> int:
        """The number of pages that link to a page."""
        name, path = place
        linking = sum(name in linked for linked in self.linked.values()) if path == "/" else 0
        return self.pages * (1 + linking)


def measure(share: float, args: Namespace) -> None:
    """Crawl once and print a row."""
    web = Web(args.sites, args.others, args.pages, args.delay)
    with serving(web) as (name_port, web.port):
        settings = SETTINGS | {
            "FRONTIER_DNS_SERVERS": f"127.0.0.1:{name_port}",
            "CLOSESPIDER_TIMEOUT": args.seconds,
            "FRONTIER_MAX_SESSIONS": args.sessions,
            "FRONTIER_DELAY_FACTOR": args.factor,
            "FRONTIER_MAX_DELAY": 60,
            "FRONTIER_DOMAIN_SHARE": share,
        }
        seeds = [f"http://{name}:{web.port}/" for name in (web.names[0], web.names[-1])]
        stats = crawl(settings, seeds=",".join(seeds))
    first = min(web.times.values())
    got = sorted((at - first, *key) for key, at in web.times.items() if key[1] != "/robots.txt")
    worth = {(name, path): web.worth((name, path)) for _, name, path in got}
    total, reached, shown = sum(worth.values()), 0, []
    goals = iter((*GOALS, 2.0))
    goal = next(goals)
    for at, name, path in got:
        reached += worth[name, path]
        while reached >= goal * total:
            shown.append(f"{goal:.0%} {at:.0f} s")
            goal = next(goals)
    ends = [max(at for at, name, _ in got if name.endswith("platform.com") == is_site) for is_site in (True, False)]
    pages = len(web.names) * web.pages
    print(
        f"share {share:<6g} {len(got)} of {pages} pages, quality {', '.join(shown)}; "
        f"platform done after {ends[0]:.0f} s, others after {ends[1]:.0f} s; CPU {stats.get('bench/cpu', 0):.1f} s",
        flush=True,
    )


def main() -> None:
    args = command_line(
        __doc__,
        sites=300,
        others=100,
        pages=15,
        delay=0.3,
        sessions=32,
        factor=5.0,
        shares="0.125,1",
        rounds=1,
        seconds=600,
    ).parse_args()
    for _ in range(args.rounds):
        for share in map(float, args.shares.split(",")):
            measure(share, args)


if __name__ == "__main__":
    main()
