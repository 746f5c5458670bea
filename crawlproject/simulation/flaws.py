"""The flaws of a simulated web: shares and times of errors, redirects, copies and robots.txt."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Flaws:
    """Amount of each flaw: shares of all URLs, or of all servers."""

    missing: float = 0.05
    moved: float = 0.05
    copies: float = 0.05
    #: Disallowed by robots.txt.
    forbidden: float = 0.03
    #: Answer 500, half of them always, the others once.
    errors: float = 0.01
    #: Spread between servers of the shares above (sigma of a log-normal factor).
    spread: float = 1.0
    #: Share of the servers with a Crawl-delay, and its seconds.
    crawl_delays: float = 0.03
    crawl_delay: float = 1.0
    #: Median and spread of the additional time (seconds) of the first answer on a connection.
    first_extra: float = 0.05
    first_spread: float = 0.7

    def __post_init__(self) -> None:
        if self.missing + self.moved + self.copies + self.forbidden > 0.9:
            raise ValueError("at most .9 of the URLs may lead to no page")
