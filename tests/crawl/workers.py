"""Workers of one crawl (``testbed.workers``) as tests start them: forked, without imports and without politeness."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from testbed.web import RunningWeb
from testbed.workers import Process, Workers, WorkersError, environment
from tests.crawl.crawling import IMPOLITE
from tests.processes import Forked

__all__ = ["Workers", "WorkersError", "workers"]


def workers(folder: Path, web: RunningWeb | None = None, spider: str = "web", **settings: Any) -> Workers:
    """Workers that crawl ``web`` with these settings on top of ``IMPOLITE``; none is started yet."""
    return Workers(folder, web, {**IMPOLITE, **settings}, spider, start=fork)


def redis_settings(url: str, **settings: Any) -> Mapping[str, Any]:
    return {"FRONTIER_BACKEND": "redis", "REDIS_URL": url, **settings}


def fork(arguments: Sequence[str], log: IO[Any]) -> Process:
    """``python ARGUMENTS``, forked from a server that has imported what it needs."""
    return Forked(arguments, stdout=log, stderr=log, env=environment())
