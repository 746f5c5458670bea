"""Describes which server an idle crawl waits for, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlproject.monitor.server_state import rest_reason

if TYPE_CHECKING:
    from crawlproject.frontier.dispatch import Dispatcher


def waiting_words(dispatcher: Dispatcher, now: float) -> str:
    """``3 servers rest; next https://a.example in 12 s (Crawl-delay 30 s)``; empty if nothing is queued."""
    found = dispatcher.waits_for()
    if found is None:
        return ""
    server, at = found
    counts = dispatcher.frontier.counts()
    resting = counts["resting"] + counts["waiting"] + counts["leased"]
    servers = "1 server rests" if resting == 1 else f"{resting} servers rest"
    return f"{servers}; next {server.key} in {max(0.0, at - now):.0f} s ({rest_reason(server)})"
