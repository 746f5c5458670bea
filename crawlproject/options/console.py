"""The settings ``FRONTIER_CONSOLE_*`` (docs/watch.md)."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address
from typing import TYPE_CHECKING

from crawlproject.options.values import Options, Reader, setting

if TYPE_CHECKING:
    from pathlib import Path

#: Characters of a token set by hand, at least: nobody guesses it.
MIN_TOKEN = 16


@dataclass(frozen=True)
class ConsoleOptions(Options):
    """Address of the console, and access to it.

    FRONTIER_CONSOLE_PORT: port of the console; 0: none. With `scrapy workers` it counts up
    FRONTIER_CONSOLE_HOST: address of that port; one that other machines reach needs a token
    FRONTIER_CONSOLE_TOKEN: the token, at least 16 characters; default: a new one for each run
    """

    port: int = setting(Reader.count, "FRONTIER_CONSOLE_PORT", 0, most=65_535)
    host: str = setting(lambda reader: str(reader.value("FRONTIER_CONSOLE_HOST", "127.0.0.1")).strip())
    #: The token set by hand; empty: one is made at the start.
    token: str = setting(lambda reader: str(reader.value("FRONTIER_CONSOLE_TOKEN", "") or ""))
    #: Directory of the crawl, where address and token are written; None: into a private directory for temporary files.
    job: Path | None = setting(Reader.path, "JOBDIR")

    def __post_init__(self) -> None:
        token = self.token
        if token and (len(token) < MIN_TOKEN or not token.isascii() or not token.isprintable() or " " in token):
            raise ValueError(f"FRONTIER_CONSOLE_TOKEN: must have at least {MIN_TOKEN} ASCII characters, and no space")
        if self.port and not self.is_local and not token:
            raise ValueError(
                f"FRONTIER_CONSOLE_HOST={self.host!r}: others can reach it, so FRONTIER_CONSOLE_TOKEN must be set"
            )

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach ``host``."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host.lower() == "localhost"
