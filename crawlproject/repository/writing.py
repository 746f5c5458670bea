"""Stores captures: a few records in a WARC file, then a row in the index."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from crawlproject.repository.index import PageIndex, PageRow, RepositoryError
from crawlproject.repository.reading import Scan
from crawlproject.repository.records import (
    conversion_record,
    new_id,
    page_records,
    payload_digest,
    target_uri,
    warcinfo_record,
)
from crawlproject.repository.warc_file import WarcFiles, compress

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import TypeVar

    from crawlproject.repository.records import Capture
    from crawlproject.repository.warc_file import OpenFile

    T = TypeVar("T")

logger = logging.getLogger(__name__)

#: Longer bodies (bytes) are hashed and compressed in a thread, because this would block the event loop for more than
#: 5 ms (docs/research/repository.md).
LONG_BODY = 1_048_576

#: Maximum number of rows from WARC files that wait in memory.
ROWS_PER_COMMIT = 10_000


@dataclass(frozen=True, slots=True)
class RepositoryOptions:
    directory: Path
    #: Bytes of a file before a new one is started.
    file_size: int
    #: Prefix of file names.
    prefix: str
    #: Fields of the warcinfo record.
    info: Mapping[str, str | None]


class Repository:
    """A directory of WARC files with an index; several processes may write to it, each to its own file.

    ``count`` is called with the name of a stat and its increment.
    """

    def __init__(self, options: RepositoryOptions, count: Callable[[str, int], None]) -> None:
        self._options = options
        self._count = count
        self._warc = WarcFiles(options.directory, options.prefix)
        self._file: OpenFile | None = None
        self._index_fails = False

    def open(self) -> None:
        """Create the directory if needed; finish the files left by a crash.

        Raises RepositoryError if the directory is not writable.  O(bytes written in the last second before the crash).
        """
        try:
            self._options.directory.mkdir(parents=True, exist_ok=True)
            self._index = PageIndex(self._options.directory)
            for file in self._warc.abandoned():
                self._repair(file)
        except (OSError, sqlite3.Error) as error:
            raise RepositoryError(self._options.directory, error) from error

    def _repair(self, file: OpenFile) -> None:
        self._index.cut(file.name, file.size)
        with self._warc.path(file.name).open("rb") as opened:
            scan = Scan(opened, file.name, self._index.end(file.name))
            pages = _add_all(self._index, scan)
        self._count("repository/unreadable", scan.unreadable)
        _log_unreadable(file.name, scan)
        damaged = file.size - scan.end
        file.cut(scan.end)
        if scan.end:
            self._index.complete(file.name)
        file.finish()
        self._count("repository/repaired", 1)
        self._count("repository/recovered", pages)
        logger.warning(
            "%s was left by an interrupted crawl; pages indexed: %d, bytes of an incomplete record removed: %d",
            file.name,
            pages,
            damaged,
        )

    async def keep(self, capture: Capture) -> str:
        """Write a page; its records have been passed to the operating system when this returns. The response's id.

        Raises OSError if the write fails; then nothing of the page is stored.
        """
        url = target_uri(capture.page.url)
        if url != capture.page.url:
            self._count("repository/urls_changed", 1)
            capture = replace(capture, page=capture.page._replace(url=url))
        is_long = len(capture.body) > LONG_BODY
        digest = await _run(is_long, payload_digest, capture.body)
        original = self._original(capture, digest)
        row, records = await _run(is_long, self._pack, capture, digest, original)
        await self._finish(self._write(row, records))
        return row.record_id

    async def keep_conversion(self, url: str, response_id: str, html: bytes) -> None:
        """Write the DOM of a rendered page, whose response was kept as ``response_id``; it is not in the index.

        Raises OSError if the write fails; then nothing of it is stored.
        """
        is_long = len(html) > LONG_BODY
        record = await _run(is_long, conversion_record, url, time.time(), response_id, html)
        packed = await _run(is_long, compress, record)
        file, full = self._file_for(len(packed))
        file.append(packed)
        self._count("repository/records/conversion", 1)
        self._count("repository/bytes", len(packed))
        await self._finish(full)

    async def _finish(self, full: OpenFile | None) -> None:
        if full is not None:  # fsync of a gigabyte is slow
            await asyncio.to_thread(full.finish)
            self._count("repository/files", 1)

    def _original(self, capture: Capture, digest: str) -> PageRow | None:
        """An earlier page with the same body; None if there is none, or if the index cannot be read."""
        try:
            if capture.page.status == 304:
                return self._index.unchanged(capture.page.url)
            return self._index.original(digest) if capture.body and not capture.page.truncated else None
        except sqlite3.Error as error:
            self._index_failed(error)
            return None

    def _pack(self, capture: Capture, body_digest: str, original: PageRow | None) -> tuple[PageRow, tuple[bytes, ...]]:
        """The row, without file, offset and length, and response or revisit, request and metadata, compressed."""
        is_revisit = original is not None or capture.page.status == 304
        digest: str | None = body_digest
        if capture.page.status == 304:  # the body is the URL's last one
            digest = original.digest if original is not None else None
        response_id = new_id()
        row = capture.page._replace(
            record_type="revisit" if is_revisit else "response",
            length=len(capture.body),
            digest=digest if capture.body or is_revisit else None,
            truncated=None if is_revisit else capture.page.truncated,
            record_id=f"urn:{response_id}",
        )
        records = page_records(capture, response_id, digest, original)
        return row, tuple(map(compress, records))

    def _write(self, row: PageRow, records: tuple[bytes, ...]) -> OpenFile | None:
        """Append to the file and to the index; returns the previous file, to be finished, if it was full."""
        written = b"".join(records)
        file, full = self._file_for(len(written))
        offset = file.append(written)
        self._index.add(row._replace(file=file.name, offset=offset, record_length=len(records[0])))
        for kind in (row.record_type, "request", "metadata"):
            self._count(f"repository/records/{kind}", 1)
        self._count("repository/bytes", len(written))
        return full

    def _file_for(self, length: int) -> tuple[OpenFile, OpenFile | None]:
        """The file for ``length`` more bytes; the previous one, to be finished, if it is full."""
        full = None
        if self._file is not None and self._file.size + length > self._options.file_size:
            full, self._file = self._file, None
            self.commit(complete=full.name)
        self._file = self._file or self._new_file()
        return self._file, full

    def _new_file(self) -> OpenFile:
        file = self._warc.create()
        info = warcinfo_record(file.name, time.time(), self._options.info)
        try:
            packed = compress(info)
            file.append(packed)
        except OSError:
            file.finish()  # deletes the empty file
            raise
        self._count("repository/records/warcinfo", 1)
        self._count("repository/bytes", len(packed))
        return file

    def commit(self, complete: str | None = None) -> None:
        """Store the waiting rows; the file ``complete`` is finished.

        If the index cannot be written, the rows keep waiting; the failure is counted, and the WARC files are complete.
        """
        try:
            if complete is None:
                self._index.commit()
            else:
                self._index.complete(complete)
        except sqlite3.Error as error:
            self._index_failed(error)

    def _index_failed(self, error: sqlite3.Error) -> None:
        self._count("repository/index_failures", 1)
        if not self._index_fails:
            self._index_fails = True
            logger.error(
                "The index of the repository cannot be used; repair it with `scrapy repository index`: %s", error
            )

    def close(self) -> None:
        """Finish the file and the index. Raises OSError; then the next crawl finishes the file."""
        file, self._file = self._file, None
        try:
            if file is not None:
                self.commit(complete=file.name)
                file.finish()
                self._count("repository/files", 1)
            else:
                self.commit()
        finally:
            self._index.close()


async def _run(in_thread: bool, function: Callable[..., T], *args: object) -> T:
    return await asyncio.to_thread(function, *args) if in_thread else function(*args)


def _add_all(index: PageIndex, scan: Scan) -> int:
    pages = 0
    for row in scan:
        index.add(row)
        pages += 1
        if pages % ROWS_PER_COMMIT == 0:
            index.commit()
    return pages


def _log_unreadable(name: str, scan: Scan) -> None:
    if scan.unreadable:
        logger.error("%s: unreadable records: %d, the first at byte %d", name, scan.unreadable, scan.first_unreadable)


def reindex(directory: Path) -> tuple[int, int]:
    """Add the missing pages of a directory's finished files to the index: (files read, pages found).

    O(bytes of the files not fully indexed).  Raises RepositoryError.
    """
    files = pages = 0
    try:
        with PageIndex(directory) as index:
            for path in WarcFiles(directory).finished():
                if index.is_complete(path.name):
                    continue
                with path.open("rb") as opened:
                    scan = Scan(opened, path.name, index.end(path.name))
                    pages += _add_all(index, scan)
                index.complete(path.name)
                files += 1
                _log_unreadable(path.name, scan)
                if scan.end < path.stat().st_size:
                    logger.error("%s: damaged at byte %d: what follows is not indexed", path.name, scan.end)
    except (OSError, sqlite3.Error) as error:
        raise RepositoryError(directory, error) from error
    return files, pages
