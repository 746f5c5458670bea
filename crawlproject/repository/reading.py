"""Reads WARC files, also of other programs: rows for the index, messages for the user."""

from __future__ import annotations

import logging
import re
from io import BytesIO
from typing import TYPE_CHECKING, NamedTuple

from fastwarc.warc import ArchiveIterator, WarcRecord, WarcRecordType

from crawlproject.repository.index import PageRow
from crawlproject.repository.records import TIMES, payload_digest
from crawlproject.repository.warc_file import Member, members
from crawlproject.urls import server_key

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import BinaryIO

_PAGES = (WarcRecordType.response, WarcRecordType.revisit)

logger = logging.getLogger(__name__)

_head_end = re.compile(rb"\r?\n\r?\n").search
_status = re.compile(rb"HTTP/[0-9.]{1,8}[ \t]+([0-9]{3})(?![0-9])").match
#: Numbers in metadata records must be below this.
_MAX_NUMBER = 2.0**53


class Message(NamedTuple):
    """An HTTP response in a record; ``head`` without the empty line at its end."""

    head: bytes
    body: bytes

    @property
    def status(self) -> int | None:
        """The status code; None if the first line is not an HTTP status line."""
        found = _status(self.head)
        return None if found is None else int(found[1])

    def lines(self) -> list[bytes]:
        """Lines of the head, including the status line. O(length)."""
        return [line.rstrip(b"\r") for line in self.head.split(b"\n")]

    def header(self, name: bytes) -> str | None:
        """The last value of the header ``name`` (lower case), as in Scrapy; None if there is none. O(length)."""
        found = None
        for line in self.lines()[1:]:
            field, colon, value = line.partition(b":")
            if colon and field.strip().lower() == name:
                found = value.strip().decode("latin-1")
        return found


class Scan:
    """The pages of a WARC file from ``start`` up to its end, or to the first incomplete or damaged record.

    ``end``: offset of the end of the last complete record read so far.  ``unreadable``: number of complete records that
    are none; ``first_unreadable``: offset of the first of them.
    """

    def __init__(self, file: BinaryIO, name: str, start: int = 0) -> None:
        self._file = file
        self._name = name
        self.end = start
        self.unreadable = self.first_unreadable = 0

    def __iter__(self) -> Iterator[PageRow]:
        """Yields a row per HTTP response or revisit, with the values of its metadata record. O(bytes)."""
        row: PageRow | None = None
        for member in members(self._file, self.end):
            try:
                record = _record(member)
                if record.record_type in _PAGES:
                    if row is not None:
                        yield row
                    row = None
                    row = self._row(record, member)
                elif row is not None and record.record_type == WarcRecordType.metadata and _refers(record, row):
                    row = _with_metadata(row, record.reader.read())
            except (OSError, ValueError) as error:
                self.first_unreadable = self.first_unreadable if self.unreadable else member.offset
                self.unreadable += 1
                logger.debug("%s: no record at byte %d: %s", self._name, member.offset, error)
            self.end = member.offset + member.length
        if row is not None:
            yield row

    def _row(self, record: WarcRecord, member: Member) -> PageRow | None:
        if not record.is_http:
            return None  # another protocol
        if record.record_date is None:
            raise ValueError("no WARC-Date")
        headers, http = record.headers, split(record.reader.read())
        url = (headers.get("WARC-Target-URI") or "").strip("<>")
        is_response = record.record_type == WarcRecordType.response
        digest = headers.get("WARC-Payload-Digest")
        if is_response:
            digest = (digest or payload_digest(http.body)) if http.body else None
        return PageRow(
            url=url,
            fetched_at=record.record_date.timestamp(),
            record_type="response" if is_response else "revisit",
            status=http.status,
            content_type=http.header(b"content-type"),
            last_modified=http.header(b"last-modified"),
            length=len(http.body),
            digest=digest,
            server=_server(url),
            ip_address=headers.get("WARC-IP-Address"),
            truncated=headers.get("WARC-Truncated") if is_response else None,
            record_id=(record.record_id or "").strip("<>"),
            file=self._name,
            offset=member.offset,
            record_length=member.length,
        )


def split(block: bytes) -> Message:
    """Split the block of a response into head and body; without an empty line all of it is the head. O(length)."""
    end = _head_end(block)
    return Message(block, b"") if end is None else Message(block[: end.start()], block[end.end() :])


def read_message(path: Path, offset: int) -> Message:
    """The response in the record at ``offset``. Raises OSError, or ValueError if there is none."""
    with path.open("rb") as file:
        for member in members(file, offset):
            return split(_record(member).reader.read())
    raise ValueError(f"{path}: no record at {offset}")


def decoded(message: Message) -> bytes:
    """The body without its content coding (gzip, br, deflate, ...). Raises ValueError if it cannot be decoded."""
    codings = [
        line for line in message.lines() if line.lower().startswith((b"content-encoding:", b"transfer-encoding:"))
    ]
    record = WarcRecord()
    record.init_headers(WarcRecordType.response)
    record.is_http = True
    record.set_bytes_content(b"\r\n".join((b"HTTP/1.1 200 OK", *codings, b"", message.body)))  # of any length
    try:
        record.parse_http(auto_decode="all")
        return record.reader.read()
    except Exception as error:
        raise ValueError(f"the body cannot be decoded: {error}") from error


def _record(member: Member) -> WarcRecord:
    """The record in a member. Raises OSError, or ValueError if there is none.

    HTTP is parsed by ``split``, because FastWARC reads at most 32 kB of headers.
    """
    record = next(iter(ArchiveIterator(BytesIO(member.data), parse_http=False)), None)
    if record is None:
        raise ValueError("no WARC record")
    return record


def _refers(record: WarcRecord, row: PageRow) -> bool:
    return row.record_id in (record.headers.get("WARC-Refers-To") or "")


def _server(url: str) -> str | None:
    try:
        return server_key(url)
    except ValueError:
        return None


def _with_metadata(row: PageRow, block: bytes) -> PageRow:
    """``row`` with the values of this project's metadata record; unexpected lines are skipped."""
    fields = dict(line.split(": ", 1) for line in block.decode("utf-8", "replace").splitlines() if ": " in line)
    found: dict[str, float | int] = {}
    for field, name in (*TIMES, ("quality", "quality"), ("depth", "depth"), ("length", "length")):
        try:
            number = float(fields[field])
        except (KeyError, ValueError):
            continue
        if abs(number) < _MAX_NUMBER:
            number = round(number / 1e3, 6) if field.endswith("Ms") else number
            found[name] = int(number) if field in ("depth", "length") else number
    server = fields.get("server", row.server)
    return row._replace(server=server, **found)  # type: ignore[arg-type]
