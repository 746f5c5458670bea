"""The private Redis server of ``scrapy workers``, for tests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from crawlproject.commands.private_redis import PrivateRedis
from crawlproject.commands.worker_processes import Signals


@contextmanager
def private_server(directory: Path | None = None) -> Iterator[PrivateRedis]:
    """A server until the end of the block; signals are blocked only while it starts: other children inherit that."""
    with ExitStack() as stack:
        with Signals() as signals:
            server = stack.enter_context(PrivateRedis(directory, signals, print))
        yield server
