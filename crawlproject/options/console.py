"""The settings ``FRONTIER_CONSOLE_*`` (docs/watch.md)."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING, Self

from crawlproject.options.values import Options

if TYPE_CHECKING:
    from pathlib import Path

    from crawlproject.options.values import Reader

#: Characters of a token set by hand, at least: nobody guesses it.
MIN_TOKEN = 16


@dataclass(frozen=True)
class ConsoleOptions(Options):
    """Address of the console, and access to it.

    FRONTIER_CONSOLE_PORT: port of the console; 0: none. With `scrapy workers` it counts up
    FRONTIER_CONSOLE_HOST: address of that port; one that other machines reach needs a token
    FRONTIER_CONSOLE_TOKEN: the token, at least 16 characters; default: a new one for each run
    """

    #: Port 0: there is none.
    port: int
    host: str
    #: Whether only this machine can reach ``host``.
    is_local: bool
    #: The token set by hand; empty: one is made at the start.
    token: str
    #: Directory of the crawl, where address and token are written; None: into a private directory for temporary files.
    job: Path | None

    @classmethod
    def read(cls, reader: Reader) -> Self:
        port = reader.count("FRONTIER_CONSOLE_PORT", 0, most=65_535)
        host = str(reader.value("FRONTIER_CONSOLE_HOST", "127.0.0.1")).strip()
        token = str(reader.value("FRONTIER_CONSOLE_TOKEN", "") or "")
        if token and (len(token) < MIN_TOKEN or not token.isascii() or not token.isprintable() or " " in token):
            raise ValueError(f"FRONTIER_CONSOLE_TOKEN: must have at least {MIN_TOKEN} ASCII characters, and no space")
        is_local = _is_local(host)
        if port and not is_local and not token:
            raise ValueError(
                f"FRONTIER_CONSOLE_HOST={host!r}: others can reach it, so FRONTIER_CONSOLE_TOKEN must be set"
            )
        return cls(
            port=port,
            host=host,
            is_local=is_local,
            token=token,
            job=reader.path("JOBDIR"),
        )


def _is_local(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
