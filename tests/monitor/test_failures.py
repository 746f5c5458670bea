"""Failures in words and in numbers, and for whom a crawl waits."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from scrapy import Request, Spider
from scrapy.http import Response
from scrapy.settings import Settings
from scrapy.spidermiddlewares.httperror import HttpError, HttpErrorMiddleware
from scrapy.utils.test import get_crawler
from twisted.python.failure import Failure

from crawlproject.addon import FrontierAddon
from crawlproject.compat import CannotResolveHostError, DownloadConnectionRefusedError, DownloadTimeoutError
from crawlproject.download.endings import ConnectTimeoutError, ServerDisconnectedError
from crawlproject.download.lookup import NameLookupError
from crawlproject.frontier import Dispatcher, Entry, Frontier, Measurement, Politeness, QualityFirst
from crawlproject.frontier.server import MAX_ERROR
from crawlproject.monitor.failure_log import CountingHttpErrorMiddleware, CountingLogFormatter, failure_counts
from crawlproject.monitor.figures import Figures
from crawlproject.monitor.forecast import Survey, Surveyor
from crawlproject.monitor.held_back import held_back
from crawlproject.requests.failures import MAX_WORDS, in_words
from crawlproject.spiders.web import WebSpider
from tests.crawl_ports import unconnected

A, B = "http://a.example", "http://b.example"


def caused(error: Exception, cause: BaseException) -> Exception:
    error.__cause__ = cause
    return error


def refused() -> Exception:
    """What a connection to a port raises at which nobody listens."""

    async def ask() -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            port = unused.getsockname()[1]
        await asyncio.open_connection("127.0.0.1", port)

    with pytest.raises(ConnectionRefusedError) as error:
        asyncio.run(ask())
    return caused(DownloadConnectionRefusedError(str(error.value)), error.value)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (caused(CannotResolveHostError("x"), NameLookupError("x.invalid", "nxdomain")), "no such name: x.invalid"),
        (NameLookupError("x.example", "timeout"), "its name servers do not answer: x.example"),
        (refused(), "connection refused"),
        (ConnectionResetError(104, "x"), "connection reset"),
        (caused(OSError("x"), ssl.SSLError(1, "[SSL] x")), "TLS: [SSL] x"),
        (ssl.SSLError(1, "[SSL] unknown error (_ssl.c:1006)"), "TLS: [SSL] unknown error (_ssl.c:1006)"),
        (ssl.SSLError(1, ""), "TLS: failed without a reason"),
        (ssl.SSLError(), "TLS: failed without a reason"),
        (DownloadTimeoutError("Getting x took longer"), "no answer in time (DOWNLOAD_TIMEOUT)"),
        (caused(DownloadTimeoutError("x"), ConnectTimeoutError()), "no connection in time"),
        (ServerDisconnectedError(), "connection closed without an answer"),
        (RuntimeError("two\nlines"), "two lines"),
        (RuntimeError(), "RuntimeError"),
    ],
)
def test_error_in_words(error: Exception, words: str) -> None:
    """By its first cause."""
    assert in_words(error).startswith(words)


def test_words_are_bounded() -> None:
    """Errors quote what servers send, and may cause each other."""
    assert len(in_words(RuntimeError("x" * 10_000))) == MAX_WORDS
    one, other = RuntimeError("one"), RuntimeError("other")
    one.__cause__, other.__cause__ = other, one
    assert in_words(one)


def test_counts_by_kind() -> None:
    """The most first; other stats are none of them."""
    stats = {
        "fates/answer/not_found": 212,
        "fates/answer/fetched": 1000,
        "fates/answer/broken_response": 3,
        "fates/request/refused": 2,
        "fates/queue/server_given_up": 4,
        "fates/request/server_given_up": 1,
        "fates/request/robots": 12,
        "fates/link/offsite": 99,
        "retry/count": 33,
        "retry/reason_count/x": 33,
        "downloader/response_bytes": 10**6,
    }
    told = "not found: 212, retries: 33, forbidden by robots.txt: 12, server given up: 5, broken response: 3"
    assert failure_counts(stats) == f"{told}, connection refused: 2"  # not by this crawler
    assert failure_counts({}) == ""


def test_only_who_asks_for_counts_gets_them() -> None:
    """An ordinary project's log stays Scrapy's; ``web`` asks; what the project has chosen stays."""

    def made(**settings: object) -> Settings:
        found = Settings(settings)
        FrontierAddon().update_settings(found)
        return found

    names = ("LOG_FORMATTER", "RETRY_GIVE_UP_LOG_LEVEL")
    assert [made()[name] for name in names] == [Settings()[name] for name in names]
    assert HttpErrorMiddleware in spider_middlewares(made())
    counting = made(FRONTIER_LOG_FAILURES="counts")
    assert counting["RETRY_GIVE_UP_LOG_LEVEL"] == "DEBUG"
    assert CountingHttpErrorMiddleware in spider_middlewares(counting)
    assert made(FRONTIER_LOG_FAILURES="counts", LOG_FORMATTER="mine.Formatter")["LOG_FORMATTER"] == "mine.Formatter"
    for choice, expected in (({}, "counts"), ({"FRONTIER_LOG_FAILURES": "lines"}, "lines")):
        settings = Settings(choice)
        WebSpider.update_settings(settings)
        assert settings["FRONTIER_LOG_FAILURES"] == expected
    with pytest.raises(ValueError, match="FRONTIER_LOG_FAILURES='all': must be one of lines, counts"):
        made(FRONTIER_LOG_FAILURES="all")


def spider_middlewares(settings: Settings) -> set[Any]:
    from scrapy.utils.misc import load_object

    return {load_object(key) for key in settings.get_component_priority_dict_with_base("SPIDER_MIDDLEWARES")}


def test_download_errors_at_debug_bugs_at_error() -> None:
    """By the exception."""
    request, spider = Request(A), Spider("x")
    levels = [
        CountingLogFormatter().download_error(Failure(error), request, spider)["level"]
        for error in (DownloadTimeoutError("x"), ZeroDivisionError("x"))
    ]
    assert levels == [logging.DEBUG, logging.ERROR]


def test_error_statuses_are_counted_as_scrapy_does(caplog: pytest.LogCaptureFixture) -> None:
    """At DEBUG, a seed's as a warning; other exceptions are somebody else's."""
    crawler = get_crawler(Spider)
    crawler.spider = crawler._create_spider("x")
    middleware = CountingHttpErrorMiddleware.from_crawler(crawler)
    with caplog.at_level(logging.DEBUG, "crawlproject"):
        for depth in (0, 1):
            response = Response(A, 404, request=Request(A, meta={"depth": depth}))
            assert middleware.process_spider_exception(response, HttpError(response)) == ()
    ours = [record.levelname for record in caplog.records if record.name == CountingHttpErrorMiddleware.__module__]
    assert ours == ["WARNING", "DEBUG"]
    assert crawler.stats is not None
    assert crawler.stats.get_value("httperror/response_ignored_status_count/404") == 2
    assert crawler.stats.get_value("httperror/response_ignored_count") == 2
    assert middleware.process_spider_exception(response, ValueError()) is None


def dispatcher_of(*urls: str, **politeness: float) -> Dispatcher:
    dispatcher = Dispatcher(Frontier(QualityFirst(), Politeness(**politeness)), 8)
    dispatcher.frontier.push(Entry(url) for url in urls)
    return dispatcher


def fail(frontier: Frontier, key: str) -> None:
    frontier.record(Measurement(key, 0.0, failed=True, error="connection refused"))


def test_servers_that_fail_are_not_said_to_rest_for_politeness() -> None:
    """If most do, the crawl waits for these; for how long, until they are given up."""
    dispatcher = dispatcher_of(f"{A}/1", f"{B}/1", factor=5)
    for each in (A, A, B, B):
        fail(dispatcher.frontier, each)
    surveyor = Surveyor(dispatcher.frontier)
    surveyor.step(1.0)
    crawl = unconnected(dispatcher)
    figures = Figures(at=0.0, elapsed=1.0, servers=Counter(known=2, resting=2), session_limit=8, max_sessions=8)

    def told(survey: Survey | None, **values: float) -> tuple[str, str]:
        return held_back(replace(figures, **values), crawl, survey, 0)  # type: ignore[arg-type]

    kind, words = told(surveyor.survey)
    assert (kind, words[:61]) == ("failures", "failures: 2 of 2 servers fail, and are tried again for up to ")
    assert told(Survey())[1].startswith("politeness: 2 of 2 servers rest; next http://")
    assert told(Survey(), cpu=0.97, lag=0.6)[1].startswith("CPU: the process uses 97% of one")
    assert told(Survey(), cpu=0.02, lag=0.7)[1].startswith("the event loop lags by 0.70 s, with 2% of a CPU in use")


def test_last_error_is_of_the_present_failures_and_bounded() -> None:
    """An answer ends them."""
    frontier = dispatcher_of(f"{A}/1").frontier
    frontier.record(Measurement(A, 0.0, failed=True, error="x" * 5000))
    server = frontier.server(A)
    assert server is not None
    assert server.last_error == "x" * MAX_ERROR
    frontier.record(Measurement(A, 10.0, status=503))
    assert server.last_error == "status 503"
    frontier.record(Measurement(A, 20.0, status=404))
    assert server.last_error is None
