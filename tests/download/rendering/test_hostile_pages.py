"""No page reaches a forbidden address through the browser, whatever its scripts try: the targets count none."""

from __future__ import annotations

import json
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest

from tests.crawl.crawling import IMPOLITE, Crawl, crawl
from tests.crawl.hostile_web import ALLOWED, FORBIDDEN, HostileWeb, hostile_web, public_server
from tests.crawl.scripted_site import tls_context
from tests.download.rendering.hostile_pages import HEADERS, MARKUP, SCRIPTS, SECURE, hostile_pages

pytestmark = pytest.mark.long

NAMES = [*SCRIPTS, *SECURE, *MARKUP, *HEADERS]

#: Of one address, so that several pages are rendered at once.
HOSTS = [f"good{number}.test" for number in range(4)]


class Outcome(NamedTuple):
    """A crawl of all pages: its results, connections to the targets, and datagrams."""

    crawl: Crawl
    items: dict[str, dict[str, Any]]
    intruders: list[str]
    datagrams: list[str]


@contextmanager
def listening(port: int, heard: list[str]) -> Iterator[None]:
    """Count the datagrams to the targets."""
    sockets = []
    for address in FORBIDDEN:
        one = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
        one.bind((address, port))
        sockets.append(one)
    stop, stopping = socket.socketpair()

    def listen() -> None:
        while stopping not in (ready := select.select([*sockets, stopping], [], [])[0]):
            heard.extend(f"{one.getsockname()}: {one.recv(2000)[:100]!r}" for one in ready)

    thread = threading.Thread(target=listen)
    thread.start()
    try:
        yield
    finally:
        stop.send(b"x")
        thread.join()
        for one in (*sockets, stop, stopping):
            one.close()


def attack(allowed: list[str], names: list[str]) -> Outcome:
    """Crawl the pages with these networks allowed."""
    heard: list[str] = []
    with hostile_web() as web, listening(web.port, heard), public_server(web, tls_context()) as secure_port:
        urls = serve(web, names, secure_port)
        settings = {
            **IMPOLITE,
            "FRONTIER_ALLOWED_NETWORKS": allowed,
            "FRONTIER_DNS_SERVERS": [web.names.address],
            "DNSCACHE_ENABLED": False,
            "FRONTIER_CONNECT_TIMEOUT": 2,
            "FRONTIER_MAX_FAILURES": 0,
            "FRONTIER_MIN_BACKOFF": 0.01,
            "FRONTIER_MAX_BACKOFF": 0.02,
            "FRONTIER_GUARD_ENABLED": False,
            "FRONTIER_RENDER": "always",
            "FRONTIER_RENDER_TIMEOUT": 60,  # none of them needs as much, except where much else runs
            "RETRY_TIMES": 1,
            "LOG_LEVEL": "INFO",
        }
        spider = "tests.crawl.hostile_spiders.ToldSpider"
        result = crawl(spider, settings=settings, urls=json.dumps(list(urls.values())))
        assert result.exit_code == 0, result.log
        told = {item["told"]: item for item in result.items}
        items = {name: told.get(url, {}) for name, url in urls.items()}
        return Outcome(result, items, list(web.intruders), heard)


def serve(web: HostileWeb, names: list[str], secure_port: int) -> dict[str, str]:
    """Add the pages to the web; name -> URL."""
    pages = hostile_pages(f"127.0.0.1:{web.port}", web.port)
    web.redirect("/redirect", f"http://127.0.0.1:{web.port}/")
    web.answers["/close"] = (200, {"Connection": "close"}, "public")
    web.answers["/worker.js"] = (200, {"Content-Type": "text/javascript"}, "fetch('http://127.0.0.1/')")
    urls = {}
    for number, name in enumerate(names):
        html, headers = pages[name]
        web.answers[f"/{number}"] = (200, {"Content-Type": "text/html", **headers}, html)
        host = HOSTS[number % len(HOSTS)]
        origin = f"https://{host}:{secure_port}" if name in SECURE else web.url("", host)
        urls[name] = f"{origin}/{number}"
    return urls


@pytest.fixture(scope="module")
def outcome(chromium: str) -> Outcome:
    """All pages in one crawl that may contact the public server's address only."""
    return attack([f"{ALLOWED}/32"], NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_page_is_rendered_and_reaches_nothing(outcome: Outcome, name: str) -> None:
    """Its scripts ran, or led the crawl to an address that it refused."""
    item = outcome.items[name]
    if "failed" in item:
        assert item["failed"] in ("AddressRefused", "NotSupported"), item
    else:
        assert "<title>tried</title>" in item["text"], item
    text = json.dumps(item)
    assert "secret" not in text
    assert "root:" not in text
    assert outcome.intruders == []
    assert outcome.datagrams == []


def test_attempts_are_counted(outcome: Outcome) -> None:
    """By the guard, as those of other requests."""
    assert len(NAMES) >= 80
    assert outcome.crawl.stat("guard/refused/loopback") > 50
    assert outcome.crawl.stat("render/requests/refused") > 50
    assert outcome.crawl.stat("log_count/ERROR") == 0, outcome.crawl.log


def test_attempts_are_real(chromium: str) -> None:
    """With loopback allowed, most of what is plain HTTP arrives: so the tests above can fail."""
    names = ["fetch", "xhr", "name", "redirect", "worker", "frame", "beacon", "script", "ipv6", "number"]
    outcome = attack(["127.0.0.0/8", "::1"], names)
    assert len(outcome.intruders) >= len(names)
