"""A small shop on loopback whose pages exist only after their scripts ran."""

from __future__ import annotations

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = """<!doctype html><title>shop</title><div id="root"></div><script src="/app.js"></script>"""
SCRIPT = """
fetch('/api' + location.pathname).then(answer => answer.json()).then(record => {
    const rows = record.rows.map(row => `<tr><td>${row}</td><td>${row * 2}</td></tr>`).join('');
    const links = record.links.map(link => `<a href="${link}">${link}</a>`).join(' ');
    document.title = record.title;
    document.getElementById('root').innerHTML = `<h1>${record.title}</h1><table>${rows}</table><p>${links}</p>`;
});
"""
NOTHING = "text/plain", ""


class Shop(ThreadingHTTPServer):
    """A server with ``pages`` pages, each linked from the first."""

    daemon_threads = True

    def __init__(self, address: str, port: int, pages: int) -> None:
        super().__init__((address, port), _Handler)
        self.pages = pages

    @property
    def url(self) -> str:
        """Its first page."""
        host, port = self.server_address[:2]
        return f"http://{host!s}:{port}/"

    def answer(self, path: str) -> tuple[str, str]:
        """Type and body."""
        if path == "/app.js":
            return "text/javascript", SCRIPT
        if path.startswith("/api/"):
            links = [f"/{number}" for number in range(1, self.pages)] if path == "/api/" else []
            title = f"Item {path[5:]}" if path[5:] else "All items"
            return "application/json", json.dumps({"title": title, "rows": list(range(100)), "links": links})
        return NOTHING if path == "/robots.txt" else ("text/html", PAGE)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one packet
    server: Shop

    def do_GET(self) -> None:
        kind, text = self.server.answer(self.path)
        body = text.encode()
        self.send_response_only(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def running_shops(count: int, pages: int) -> Iterator[list[str]]:
    """That many shops on 127.4.1.1, 127.4.1.2, ...; the URLs of their first pages."""
    shops = [Shop(f"127.4.1.{number}", 0, pages) for number in range(1, count + 1)]
    for shop in shops:
        threading.Thread(target=shop.serve_forever, args=(0.02,)).start()
    try:
        yield [shop.url for shop in shops]
    finally:
        for shop in shops:
            shop.shutdown()
            shop.server_close()
