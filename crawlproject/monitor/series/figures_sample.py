"""A sample of the figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlproject.monitor.series.samples import HELD_BACK

if TYPE_CHECKING:
    from crawlproject.monitor.figures import Figures
    from crawlproject.monitor.series.samples import Sample


def sample_of(figures: Figures) -> Sample:
    """The sample of these figures."""
    words = figures.held_back.split(" ", 2)
    word = " ".join(words[: 2 if words[0] == "the" else 1]).rstrip(":")
    return {
        "elapsed": round(figures.elapsed, 1),
        "pages": figures.pages,
        "relevant": figures.relevant,
        "bytes": figures.bytes,
        "requests": figures.requests,
        "failures": sum(figures.failures.values()),
        "sessions": figures.sessions,
        "session_limit": figures.session_limit,
        "ready": figures.servers.ready,
        "resting": figures.servers.resting + figures.servers.waiting,
        "leased": figures.servers.leased,
        "given_up": figures.servers.given_up,
        "servers": figures.servers.known,
        "queued": figures.queued,
        "seen": figures.seen,
        "gathered": figures.quality_gathered,
        "waiting": -1 if figures.quality_queued is None else figures.quality_queued,
        "cpu": figures.cpu,
        "lag": figures.lag,
        "memory": figures.memory,
        "held_back": HELD_BACK.index(word) if word in HELD_BACK else 0,
    }
