"""Webs by name, for real crawls and their simulation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from testbed.bench import real_web
from testbed.web import WebSpec

if TYPE_CHECKING:
    from argparse import Namespace

NAMES = ("plain", "real", "slow")
FIELDS = ("servers", "pages", "seed", "quality", "time_scale")


def named_web(args: Namespace) -> WebSpec:
    """The web ``args.web`` with the other arguments that are fields of a web. Raises ValueError for an unknown name.

    ``plain``: pages and half of the servers with a robots.txt; ``real``: robots.txt everywhere, with rules, redirects,
    dead links, errors; ``slow``: ``real`` with a Crawl-delay of one server in ten, slower and more different servers.
    """
    if args.web not in NAMES:
        raise ValueError(f"--web {args.web}: must be one of {', '.join(NAMES)}")
    chosen: dict[str, Any] = {name: getattr(args, name) for name in FIELDS if hasattr(args, name)}
    if args.web == "plain":
        return WebSpec(**chosen)
    real = replace(real_web(args.pages, 8_000, 15, args.servers), **chosen)
    if args.web == "real":
        return real
    return replace(real, response_median=0.3, response_sigma_servers=1.2, crawl_delay_share=0.1)
