"""Shared by the benchmarks: the command line, webs, cases measured in turns."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from testbed.web import WebSpec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from testbed.crawl import Stats


def command_line(description: str | None, **defaults: Any) -> argparse.ArgumentParser:
    """A parser with an option for each default, of the default's type; False makes a flag.

    >>> command_line("", pages=10, min_delay=0.5, all=False).parse_args(["--pages", "20", "--all"])
    Namespace(pages=20, min_delay=0.5, all=True)
    """
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, default in defaults.items():
        option = "--" + name.replace("_", "-")
        if default is False:
            parser.add_argument(option, action="store_true")
        else:
            parser.add_argument(option, type=type(default), default=default, help=f"default: {default}")
    return parser


def fast_web(pages: int, page_bytes: int = 19_000, links: int = 40) -> WebSpec:
    """20 servers that answer immediately: the crawler's CPU time determines the duration of a crawl."""
    return WebSpec(
        servers=20,
        pages=pages,
        time_scale=0,
        page_bytes=page_bytes,
        links_per_page=links,
        links_sigma=0,
        keep_alive_limit=100,
    )


def real_web(pages: int, page_bytes: int = 20_000, links: int = 40, servers: int = 500) -> WebSpec:
    """A realistic web: many servers with connection limits and times as in Cao 2003, robots.txt on all of them,
    compressed pages, redirects, dead links and errors."""
    return WebSpec(
        servers=servers,
        pages=pages,
        page_bytes=page_bytes,
        links_per_page=links,
        links_sigma=0,
        response_max=3.0,
        robots_missing_share=0.0,
        robots_disallow_share=0.3,
        gzip_share=0.3,
        redirect_share=0.05,
        not_found_share=0.05,
        server_error_share=0.01,
        silent_close_share=0.05,
    )


def in_turns(cases: Iterable[str], measure: Callable[[str], Stats], rounds: int) -> dict[str, list[Stats]]:
    """The stats of each case in each round; the cases are measured in turns."""
    results: dict[str, list[Stats]] = {case: [] for case in cases}
    for _ in range(rounds):
        for case, found in results.items():
            found.append(measure(case))
    return results
