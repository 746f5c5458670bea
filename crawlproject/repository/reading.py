"""WARC files back into pages: rows for the index, bodies for the reader.  Of this project's files or any other's."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple

from fastwarc.warc import ArchiveIterator, WarcRecord, WarcRecordType

from crawlproject.repository.compression import COMPRESSIONS, Compression, Member, members
from crawlproject.repository.index import PageRow
from crawlproject.repository.records import TIMES, payload_digest
from crawlproject.urls import server_key

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

_PAGES = (WarcRecordType.response, WarcRecordType.revisit)


class Message(NamedTuple):
    """An answer as a record has it."""

    head: bytes
    body: bytes


def compression_of(name: str) -> Compression:
    """By a file's name. Raises ValueError."""
    for compression in COMPRESSIONS.values():
        if name.endswith(compression.suffix):
            return compression
    raise ValueError(f"{name}: neither .gz nor .zst")


class Scan:
    """The pages of a WARC file from ``start`` on; ``end`` is where the last whole record read so far ends."""

    def __init__(self, file: BinaryIO, name: str, start: int = 0) -> None:
        self._file = file
        self._name = name
        self.end = start

    def __iter__(self) -> Iterator[PageRow]:
        """A row per response and revisit over HTTP, with what its metadata record says. O(bytes)."""
        row: PageRow | None = None
        for member in members(self._file, compression_of(self._name), self.end):
            record = _record(member)
            if record is None:
                break
            if record.record_type in _PAGES:
                if row is not None:
                    yield row
                row = self._row(record, member)
            elif row is not None and record.record_type == WarcRecordType.metadata and _refers(record, row):
                row = _with_metadata(row, record.reader.read())
            self.end = member.offset + member.length
        if row is not None:
            yield row

    def _row(self, record: WarcRecord, member: Member) -> PageRow | None:
        if not record.is_http_parsed:
            return None  # of another protocol
        headers, http = record.headers, record.http_headers
        url = (headers.get("WARC-Target-URI") or "").strip("<>")
        body = record.reader.read()
        truncated = headers.get("WARC-Truncated")
        is_response = record.record_type == WarcRecordType.response
        digest = headers.get("WARC-Payload-Digest")
        if is_response:
            digest = (digest or payload_digest(body)) if body else None
        return PageRow(
            url=url,
            fetched_at=record.record_date.timestamp(),
            record_type="response" if is_response else "revisit",
            status=http.status_code,
            content_type=http.get("Content-Type"),
            last_modified=http.get("Last-Modified"),
            length=len(body),
            digest=digest,
            server=_server(url),
            depth=None,
            quality=None,
            dns_time=None,
            connect_time=None,
            tls_time=None,
            response_time=None,
            fetch_time=None,
            ip_address=headers.get("WARC-IP-Address"),
            truncated=truncated if is_response else None,
            record_id=(record.record_id or "").strip("<>"),
            file=self._name,
            offset=member.offset,
            record_length=member.length,
        )


def read_message(path: Path, offset: int) -> Message:
    """The answer that the record at ``offset`` has. Raises OSError, ValueError where there is none."""
    with path.open("rb") as file:
        for member in members(file, compression_of(path.name.removesuffix(".open")), offset):
            record = _record(member, parse_http=False)
            if record is not None:
                head, _, body = record.reader.read().partition(b"\r\n\r\n")
                return Message(head, body)
            break
    raise ValueError(f"{path}: no record at {offset}")


def decoded(message: Message) -> bytes:
    """The body without its content coding (gzip, br, deflate, ...). Raises ValueError where it cannot be undone."""
    record = WarcRecord()
    record.init_headers(WarcRecordType.response)
    record.is_http = True
    record.set_bytes_content(message.head + b"\r\n\r\n" + message.body)
    try:
        record.parse_http(auto_decode="all")
        return record.reader.read()
    except Exception as error:
        raise ValueError(f"the body cannot be decoded: {error}") from error


def _record(member: Member, *, parse_http: bool = True) -> WarcRecord | None:
    """The record that a member holds, None if it holds none."""
    return next(iter(ArchiveIterator(BytesIO(member.data), parse_http=parse_http)), None)


def _refers(record: WarcRecord, row: PageRow) -> bool:
    return row.record_id in (record.headers.get("WARC-Refers-To") or "")


def _server(url: str) -> str | None:
    try:
        return server_key(url)
    except ValueError:
        return None


def _with_metadata(row: PageRow, block: bytes) -> PageRow:
    """What a metadata record of ours says; a line that is not as expected is passed over."""
    fields = dict(line.split(": ", 1) for line in block.decode("utf-8", "replace").splitlines() if ": " in line)
    found: dict[str, float | int] = {}
    for field, name in (*TIMES, ("quality", "quality"), ("depth", "depth"), ("length", "length")):
        try:
            number = float(fields[field])
        except (KeyError, ValueError):
            continue
        if field.endswith("Ms"):
            found[name] = round(number / 1e3, 6)
        else:
            found[name] = number if field == "quality" else int(number)
    server = fields.get("server", row.server)
    return row._replace(server=server, **found)  # type: ignore[arg-type]
