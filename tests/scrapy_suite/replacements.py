"""A pytest plugin for Scrapy's own tests: everything of Scrapy's that this project replaces is replaced.

Loaded with ``-p replacements`` where Scrapy's tests lie: what they import by name, the middlewares, are this project's.
(Crawlers have the add-on by ``sitecustomize``.)
"""

from __future__ import annotations

import asyncio
import inspect
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from scrapy.utils.misc import load_object

from crawlproject.addon import COOKIES, COOKIES_REPLACEMENT, REPLACED
from crawlproject.middlewares.compression import OffLoopCompressionMiddleware

if TYPE_CHECKING:
    from collections.abc import Awaitable

    import pytest
    from scrapy.http import Request, Response

for stock, ours in {**REPLACED, load_object(COOKIES): COOKIES_REPLACEMENT}.items():
    setattr(sys.modules[stock.__module__], stock.__name__, load_object(ours))


class Awaited(OffLoopCompressionMiddleware):
    """The same for tests that call ``process_response`` themselves and do not await what it returns, as crawls do."""

    def process_response(self, request: Request, response: Response) -> Request | Response:  # type: ignore[override]
        """The answer, waited for: in a thread, as the loop of this one is the reactor's."""
        answer = super().process_response(request, response)
        if not inspect.isawaitable(answer):
            return answer
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, _wait_for(answer)).result()


async def _wait_for(answer: Awaitable[Request | Response]) -> Request | Response:
    return await answer


def pytest_collection_finish(session: pytest.Session) -> None:
    """Tests have the class above by the name that they import; crawls load the add-on's by its path."""
    for module in {item.module for item in session.items if hasattr(item, "module")}:
        for name, value in list(vars(module).items()):
            if value is OffLoopCompressionMiddleware:
                setattr(module, name, Awaited)
