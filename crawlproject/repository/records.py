"""Creates the WARC 1.1 records (ISO 28500:2017) of a capture with FastWARC."""

from __future__ import annotations

import re
from base64 import b32encode
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha1
from io import BytesIO
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import quote
from uuid import uuid4

from fastwarc.warc import WarcRecord, WarcRecordType

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from crawlproject.repository.index import PageRow

REVISIT = "http://netpreserve.org/warc/1.1/revisit/"
RESPONSE_TYPE = "application/http; msgtype=response"
REQUEST_TYPE = "application/http; msgtype=request"
FIELDS_TYPE = "application/warc-fields"
DOM_TYPE = "text/html; charset=utf-8"

_breaks = re.compile(r"[\x00-\x1f\x7f]+")
_not_in_urls = re.compile(r"[\x00-\x20\x7f]+")

#: Longest URL of a record, bytes: readers reject records with over 32 kB of WARC headers, and a revisit has two URLs.
MAX_URL = 8192

#: Times in a metadata record: field, column of the index; milliseconds, like the standard's ``fetchTimeMs``.
TIMES = (
    ("fetchTimeMs", "fetch_time"),
    ("dnsTimeMs", "dns_time"),
    ("connectTimeMs", "connect_time"),
    ("tlsTimeMs", "tls_time"),
    ("responseTimeMs", "response_time"),
)

Headers: TypeAlias = "Iterable[tuple[str, str | None]]"


@dataclass(frozen=True, slots=True)
class Capture:
    """A request and its response."""

    #: Without digest, record and place.
    page: PageRow
    #: Request line and headers including the empty line; ``response_head`` likewise.
    request_head: bytes
    request_body: bytes
    response_head: bytes
    #: As received, without transfer coding; compressed if Content-Encoding says so.
    body: bytes
    #: From the highest to the lowest layer: ``http/1.1``, ``tls/1.3``.
    protocols: tuple[str, ...]
    #: URL of the page on which its URL was found; None if unknown.
    via: str | None = None


def payload_digest(body: bytes) -> str:
    """SHA-1 in Base32, by which WARC tools compare bodies. 0.6 ms per MB."""
    return "sha1:" + b32encode(sha1(body, usedforsecurity=False).digest()).decode("ascii")


def target_uri(url: str) -> str:
    """``url`` made valid for a record: no white space or control characters, at most ``MAX_URL`` bytes. O(length)."""
    escaped = _not_in_urls.sub(lambda found: quote(found[0]), url)
    return escaped.encode("utf-8", "replace")[:MAX_URL].decode("utf-8", "ignore")


def warc_date(time: float) -> str:
    """Seconds since 1970 in the format of WARC-Date, to the microsecond."""
    return f"{datetime.fromtimestamp(time, UTC).isoformat(timespec='microseconds')[:26]}Z"


def new_id() -> str:
    """A WARC-Record-ID without its brackets and ``urn:``."""
    return f"uuid:{uuid4()}"


def page_records(capture: Capture, response_id: str, digest: str | None, original: PageRow | None) -> tuple[bytes, ...]:
    """The records of one page: response or revisit, request, metadata. O(length of the body).

    A revisit contains only the headers; ``original`` is the earlier page that stores its body.
    """
    page = capture.page
    date, url = warc_date(page.fetched_at), target_uri(page.url)
    address = ("WARC-IP-Address", page.ip_address)
    shared = [("WARC-Date", date), ("WARC-Target-URI", url)]
    to_response = ("WARC-Concurrent-To", f"<urn:{response_id}>")  # symmetric (5.7)
    answer = [
        *shared,
        address,
        *(("WARC-Protocol", protocol) for protocol in capture.protocols),
        ("WARC-Payload-Digest", digest),
    ]
    asked = [*shared, address, to_response, ("Content-Type", REQUEST_TYPE)]
    about = [*shared, to_response, ("WARC-Refers-To", f"<urn:{response_id}>"), ("Content-Type", FIELDS_TYPE)]
    return (
        _response(capture, response_id, answer, original),
        _record(WarcRecordType.request, new_id(), asked, capture.request_head + capture.request_body),
        _record(WarcRecordType.metadata, new_id(), about, _fields(_metadata(capture))),
    )


def conversion_record(url: str, time: float, response_id: str, html: bytes) -> bytes:
    """The DOM of a page that was rendered at ``time``, of the response ``response_id``. O(length)."""
    headers = [
        ("WARC-Date", warc_date(time)),
        ("WARC-Target-URI", target_uri(url)),
        ("WARC-Refers-To", f"<{response_id}>"),
        ("WARC-Payload-Digest", payload_digest(html)),
        ("Content-Type", DOM_TYPE),
    ]
    return _record(WarcRecordType.conversion, new_id(), headers, html)


def warcinfo_record(file_name: str, time: float, fields: Mapping[str, str | None]) -> bytes:
    """The first record of a file."""
    headers = [("WARC-Date", warc_date(time)), ("WARC-Filename", file_name), ("Content-Type", FIELDS_TYPE)]
    return _record(WarcRecordType.warcinfo, new_id(), headers, _fields(fields.items()))


def _response(
    capture: Capture, record_id: str, headers: list[tuple[str, str | None]], original: PageRow | None
) -> bytes:
    if original is None and capture.page.status != 304:
        headers += [("WARC-Truncated", capture.page.truncated), ("Content-Type", RESPONSE_TYPE)]
        return _record(WarcRecordType.response, record_id, headers, capture.response_head + capture.body)
    not_modified = capture.page.status == 304
    headers.append(("WARC-Profile", REVISIT + ("server-not-modified" if not_modified else "identical-payload-digest")))
    if original is not None:
        headers += [
            ("WARC-Refers-To", f"<{original.record_id}>"),
            ("WARC-Refers-To-Target-URI", target_uri(original.url)),
            ("WARC-Refers-To-Date", warc_date(original.fetched_at)),
        ]
    headers += [("WARC-Truncated", None if not_modified else "length"), ("Content-Type", RESPONSE_TYPE)]
    return _record(WarcRecordType.revisit, record_id, headers, capture.response_head)


def _record(kind: WarcRecordType, record_id: str, headers: Headers, block: bytes) -> bytes:
    record = WarcRecord()
    record.init_headers(kind, record_urn=record_id.encode("ascii"))
    for name, value in headers:
        if value is None:
            continue
        if name == "WARC-Date":  # FastWARC has already added one, with the current time
            record.headers[name] = value
        else:
            record.headers.append(name, value)
    record.set_bytes_content(block)
    written = BytesIO()
    record.write(written, checksum_data=True)  # with WARC-Block-Digest
    return written.getvalue()


def _metadata(capture: Capture) -> Iterable[tuple[str, str | None]]:
    page = capture.page
    yield "via", capture.via
    for field, name in TIMES:
        seconds = getattr(page, name)
        yield field, None if seconds is None else f"{seconds * 1e3:.3f}"
    yield "length", str(len(capture.body))
    yield "server", page.server
    yield "depth", None if page.depth is None else str(page.depth)
    yield "quality", None if page.quality is None else repr(float(page.quality))


def _fields(fields: Headers) -> bytes:
    lines = [f"{name}: {_breaks.sub(' ', value)}\r\n" for name, value in fields if value]
    return "".join(lines).encode("utf-8", "replace")
