#!/usr/bin/env python3
"""The cost of links to many dead servers: pages of good servers over time, and CPU.

    scripts/bench_dead_servers.py [--kinds none,nxdomain,silent,mute-names,servfail,wildcard,farm,refused,...]
                                  [--dead 30000] [--good 10] [--pages 29] [--seconds 30]
                                  [--delay 0] [--share 0.125] [--patience 5] [--hidden 0|1]

The good servers are seeds, and so is a page that links to ``--dead`` others, each a server of its own: names that do
not exist (``nxdomain``), whose name servers do not answer (``silent``; ``mute-names``: that of one domain for all) or
fail (``servfail``), subdomains of one domain at one address (``wildcard``: every page a 404; ``farm``: each page links
to 20 more, and to 10 pages of its own), addresses that refuse connections (``refused``), or do not answer
(``blackhole``), or accept them and never answer (``mute``) or send a byte of the answer each second (``drip``); of
these two there are at most 250.  ``--hidden``: the good servers are no seeds, but linked behind the others.
``--delay``: seconds before each answer.  ``--share``: ``FRONTIER_DOMAIN_SHARE``, ``--patience``: ``FRONTIER_PATIENCE``.
Each crawl stops after ``--seconds``.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
import sys
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from testbed.bench import ADDON, QUIET, command_line, crawl
from testbed.tiny_web import TinyWeb, serving

if TYPE_CHECKING:
    from argparse import Namespace

KINDS = "none,nxdomain,silent,mute-names,servfail,wildcard,farm,refused,blackhole,mute,drip"
RCODES = {"nx": 3, "sf": 2}
AFTER = (1, 2, 5, 10, 20, 30)
SETTINGS = QUIET | ADDON | {"FRONTIER_MIN_BACKOFF": 1, "LOG_LEVEL": "INFO", "LOGSTATS_INTERVAL": 0}


class Web(TinyWeb):
    """The good servers, on 127.5.0.x, and the name server, in one thread."""

    def __init__(self, good: int, pages: int) -> None:
        self.good, self.pages, self.port, self.delay = good, pages, 0, 0.0
        self.hub = ""
        self.hub_time = 0.0
        self.drips = False
        self.subdomains = itertools.count()  # of the farm
        self.times: list[float] = []
        self.questions: Counter[str] = Counter()

    def datagram_received(self, data: bytes, addr: object) -> None:
        """Answer a query by its name's end: ``.nx``, ``.sf``, ``.no`` (no answer), ``.wild.com``, ``.farm.com``."""
        end, at = data[12:].index(0) + 12, 12
        labels = []
        while at < end:
            labels.append(data[at + 1 : at + 1 + data[at]])
            at += 1 + data[at]
        kind = labels[-2 if labels[-1] == b"com" else -1].decode()
        self.questions[kind] += 1
        if kind != "no":
            self.reply(data, addr, "127.5.9.9" if kind in ("wild", "farm") else None, RCODES.get(kind, 0))

    async def page(self, host: str, path: str, writer: asyncio.StreamWriter) -> str | None:
        address = writer.get_extra_info("sockname")[0]
        if address.startswith("127.9.0."):
            await self.stall(writer)
        await asyncio.sleep(self.delay)
        return self.farm() if host.endswith(".farm.com") and path != "/robots.txt" else self.body(address, path)

    async def stall(self, writer: asyncio.StreamWriter) -> None:
        """Never answer; drip: send a byte each second."""
        while True:
            await asyncio.sleep(1)
            if self.drips:
                writer.write(b"H")
                await writer.drain()

    def farm(self) -> str:
        """A page with links to new subdomains and new pages of its own, and words that no other has."""
        numbers = [next(self.subdomains) for _ in range(20)]
        links = "".join(f'<a href="http://m{number}.farm.com:{self.port}/">{number}</a>' for number in numbers)
        links += "".join(f'<a href="/{number}">{number}</a>' for number in numbers[:10])
        return f"<title>{numbers}</title>{links}<p>{' '.join(f'{hash(str(number)):x}' for number in numbers)}"

    def body(self, host: str, path: str) -> str | None:
        """A page: of a good server, or the one with the dead links."""
        if host == "127.5.0.200" and path == "/":
            self.hub_time = time.monotonic()
            return self.hub
        if not host.startswith("127.5.0.") or path == "/robots.txt":
            return None
        if path != "/":
            self.times.append(time.monotonic())
        links = (
            "".join(f'<a href="/{number}">{number}</a>' for number in range(1, self.pages + 1)) if path == "/" else ""
        )
        return f"<title>{host}{path}</title>{links}<p>{hash((host, path))} {'x' * 500}"


def dead_links(kind: str, count: int, closed: int, black: int) -> list[str]:
    """One URL on each dead server."""
    address = [f"127.{9 + number // 60000}.{number // 250 % 240}.{number % 250 + 1}" for number in range(count)]
    return {
        "none": [],
        "nxdomain": [f"http://n{number}.d{number}.nx/" for number in range(count)],
        "silent": [f"http://n{number}.d{number}.no/" for number in range(count)],
        "mute-names": [f"http://n{number}.dead.no/" for number in range(count)],
        "servfail": [f"http://n{number}.d{number}.sf/" for number in range(count)],
        "wildcard": [f"http://n{number}.wild.com:PORT/" for number in range(count)],
        "farm": [f"http://first{number}.farm.com:PORT/" for number in range(count // 100)],
        "refused": [f"http://{each}:{closed}/" for each in address],
        "blackhole": [f"http://{each}:{black}/" for each in address],
        "mute": [f"http://127.9.0.{number + 1}:PORT/" for number in range(min(count, 250))],
        "drip": [f"http://127.9.0.{number + 1}:PORT/" for number in range(min(count, 250))],
    }[kind]


def measure(kind: str, args: Namespace) -> None:
    """Crawl once and print a row."""
    web = Web(args.good, args.pages)
    with (
        serving(web) as (name_port, port),
        socket.socket() as closed,
        socket.socket() as black,
        contextlib.ExitStack() as fillers,
    ):
        web.port, web.delay, web.drips = port, args.delay, kind == "drip"
        closed.bind(("127.5.8.8", 0))
        black.bind(("0.0.0.0", 0))
        black.listen(0)
        for _ in range(3):  # its queue is full now: the kernel drops further SYNs
            filler = fillers.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", black.getsockname()[1]))
        dead = dead_links(kind, args.dead, closed.getsockname()[1], black.getsockname()[1])
        good = [f"http://127.5.0.{number + 1}:{port}/" for number in range(web.good)]
        are_hidden = bool(args.hidden)
        links = [link.replace("PORT", str(port)) for link in dead] + good * are_hidden
        web.hub = "".join(f'<a href="{link}">x</a>' for link in links)
        settings = SETTINGS | {
            "FRONTIER_DNS_SERVERS": f"127.0.0.1:{name_port}",
            "CLOSESPIDER_TIMEOUT": args.seconds,
            "LINKS_SKIP_AFTER": 3,
            "FRONTIER_DOMAIN_SHARE": args.share,
            "FRONTIER_PATIENCE": args.patience,
        }
        seeds = (f"http://127.5.0.200:{port}/", *([] if are_hidden else good))
        stats = crawl(settings, seeds=",".join(seeds))
    first = web.hub_time if are_hidden else min(web.times, default=0.0)
    seen = [sum(at - first <= after for at in web.times) for after in AFTER]
    shown = {"frontier/dropped/server_given_up": "given up", "dns/lookups": "look-ups", "log_count/INFO": "INFO"}
    shown |= {"log_count/WARNING": "WARNING", "bench/cpu": "CPU", "monitor/lag/max": "lag"}
    shown |= {"frontier/sessions": "sessions"}
    row = ", ".join(f"{label} {stats[name]:.6g}" for name, label in shown.items() if name in stats)
    total, elapsed = web.good * web.pages, stats["elapsed_time_seconds"]
    print(f"{kind:>9} {'/'.join(map(str, seen)):>26} of {total}; {elapsed:.0f} s, {row}", flush=True)


def main() -> None:
    args = command_line(
        __doc__, kinds=KINDS, dead=30_000, good=10, pages=29, seconds=30, delay=0.0, share=0.125, patience=5.0, hidden=0
    ).parse_args()
    print(f"good pages after {'/'.join(map(str, AFTER))} s")
    for kind in args.kinds.split(","):
        measure(kind, args)


if __name__ == "__main__":
    main()
