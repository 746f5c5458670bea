"""Sends the requests that the trap guard asks for: far addresses, and pages once more."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from scrapy import Request
from scrapy.http.request import NO_CALLBACK

from crawlproject.requests.failures import FETCH_FAILURES
from crawlproject.requests.meta import BY_TYPE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from scrapy.http import Response
    from scrapy.statscollectors import StatsCollector

    from crawlproject.frontier.guard.judge import Answer, Guard, Question
    from crawlproject.frontier.server import Server

logger = logging.getLogger(__name__)

#: Questions that wait for an answer at once, of all servers. Others count as not answered.
MAX_QUESTIONS = 100

#: Meta of the requests: the server must answer now, once, and with a page.
_META = {BY_TYPE: True, "dont_cache": True, "dont_retry": True, "allow_offsite": True}


class Probes:
    """Asks the questions of the guard, one request after the other, when their server may be contacted.

    ``fetch``: gets the response to a request that does not come from the frontier, politely and by robots.txt;
    ``read``: what the guard needs to know of it.
    Stats: ``guard/probes`` (requests), ``guard/probes/<end>`` (patterns by their end: finite, endless, open).
    """

    def __init__(
        self,
        fetch: Callable[[Request], Awaitable[Response]],
        read: Callable[[Response], Answer],
        stats: StatsCollector,
    ) -> None:
        self._fetch = fetch
        self._read = read
        self.stats = stats
        self._tasks: set[asyncio.Task[None]] = set()

    def ask(self, guard: Guard, server: Server, question: Question, answered: Callable[[Server, str], None]) -> None:
        """Ask a ``question`` about ``server``; ``answered`` is called after each answer, with the name
        of the pattern."""
        if len(self._tasks) >= MAX_QUESTIONS:
            guard.answered(server, question, None)
            return
        task = asyncio.ensure_future(self._ask(guard, server, question, answered))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _ask(
        self, guard: Guard, server: Server, question: Question, answered: Callable[[Server, str], None]
    ) -> None:
        then: Question | None = question
        while then is not None:
            self.stats.inc_value("guard/probes")
            request = Request(then.next_url, callback=NO_CALLBACK, meta=dict(_META), dont_filter=True)
            try:
                answer = self._read(await self._fetch(request))
            except FETCH_FAILURES as error:
                logger.debug("No answer to the guard's %s: %s", request, error)
                answer = None
            then = guard.answered(server, then, answer)
            answered(server, question.name)
        if question.far and server.guard is not None and question.name in server.guard.patterns:
            self.stats.inc_value(f"guard/probes/{server.guard.patterns[question.name].end}")
