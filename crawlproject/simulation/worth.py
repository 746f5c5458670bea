"""Qualities that a simulated crawler knows in advance; ``frontier.quality`` has those that it learns while crawling."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from crawlproject.frontier.quality import ScoredQuality

if TYPE_CHECKING:
    from crawlproject.simulation.web import SimulatedWeb


class KnownWorth(ScoredQuality):
    """The true quality, known when a URL is discovered, multiplied by a log-normal error of spread ``sigma``."""

    def __init__(self, web: SimulatedWeb, sigma: float = 0.0, seed: int = 0) -> None:
        error = np.random.default_rng([seed, 0xE4404]).lognormal(0.0, sigma, web.pages)
        values = web.quality * error
        super().__init__(dict(zip(web.urls, values.tolist(), strict=True)))
