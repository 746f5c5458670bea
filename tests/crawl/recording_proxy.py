"""A proxy on loopback that answers for every server of the web, and records the URLs that clients ask for."""

from __future__ import annotations

import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Self

from scrapy import Request
from scrapy.crawler import Crawler

from tests.waiting import PATIENCE

#: URL asked for -> the whole answer; None: a page without links.
Script = Callable[[str], bytes | None]


@dataclass
class Recorder:
    """What was asked, in order."""

    address: str
    script: Script
    urls: list[str] = field(default_factory=list)
    came: threading.Condition = field(default_factory=threading.Condition)

    def wait_for(self, is_enough: Callable[[list[str]], bool]) -> None:
        """Return when ``is_enough`` of the URLs is true."""
        with self.came:
            assert self.came.wait_for(lambda: is_enough(self.urls), PATIENCE), self.urls


def answer(*headers: bytes, body: bytes = b"<title>end</title>", status: bytes = b"200 OK") -> bytes:
    """A whole answer, after which the connection is closed."""
    lines = (b"HTTP/1.1 " + status, *headers, b"Content-Length: %d" % len(body), b"Connection: close", b"", body)
    return b"\r\n".join(lines)


class _Handler(socketserver.StreamRequestHandler):
    timeout = 30
    server: _Server

    def handle(self) -> None:
        line = self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        words = line.decode("latin-1").split(" ")
        recorder = self.server.recorder
        if len(words) != 3 or words[0] != "GET":  # CONNECT: no https here
            return
        with recorder.came:
            recorder.urls.append(words[1])
            recorder.came.notify_all()
        self.wfile.write(recorder.script(words[1]) or answer(b"Content-Type: text/html"))


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    request_queue_size = 128
    recorder: Recorder

    def handle_error(self, *args: object) -> None:
        """A client closed the connection."""


class ByProxy:
    """Downloader middleware: sends every request to the proxy in the setting ``TEST_PROXY``."""

    def __init__(self, address: str) -> None:
        self._address = address

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler.settings["TEST_PROXY"])

    def process_request(self, request: Request) -> None:
        request.meta["proxy"] = f"http://{self._address}"


@contextmanager
def recording_proxy(script: Script) -> Iterator[Recorder]:
    with _Server(("127.0.0.1", 0), _Handler) as server:
        server.recorder = Recorder(f"127.0.0.1:{server.server_address[1]}", script)
        threading.Thread(target=server.serve_forever, args=(0.02,)).start()
        try:
            yield server.recorder
        finally:
            server.shutdown()
