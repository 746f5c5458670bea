"""Keeps captures: a few records in a WARC file, then a row in the index."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from crawlproject.repository.index import PageIndex, PageRow, RepositoryError
from crawlproject.repository.reading import Scan
from crawlproject.repository.records import new_id, page_records, payload_digest, target_uri, warcinfo_record
from crawlproject.repository.warc_file import WarcFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import TypeVar

    from crawlproject.repository.capture import Capture
    from crawlproject.repository.compression import Compression
    from crawlproject.repository.index import Original
    from crawlproject.repository.warc_file import OpenFile

    T = TypeVar("T")

logger = logging.getLogger(__name__)

#: A body longer than this many bytes is hashed and compressed in a thread: in the event loop that would hold up
#: everything else for more than 5 ms (scripts/bench_repository.py stalls).
LONG_BODY = 1_048_576

#: Rows found in WARC files that wait in memory at most.
ROWS_PER_COMMIT = 10_000


@dataclass(frozen=True, slots=True)
class RepositoryOptions:
    """How a repository is written."""

    directory: Path
    compression: Compression
    #: A file is finished when it has reached so many bytes.
    file_size: int
    #: What the names of files begin with.
    prefix: str
    #: Fields of the warcinfo record.
    info: Mapping[str, str | None]


class _Packed(NamedTuple):
    """A page ready to be written."""

    row: PageRow  # but for its place
    #: Compressed: response or revisit, request, metadata.
    records: tuple[bytes, ...]


class Repository:
    """A directory of WARC files with an index; several processes may write to one, each to a file of its own.

    ``count`` is called with the name of a stat and by how much it rises.
    """

    def __init__(self, options: RepositoryOptions, count: Callable[[str, int], None]) -> None:
        self._options = options
        self._count = count
        self._warc = WarcFiles(options.directory, options.prefix, options.compression.suffix)
        self._file: OpenFile | None = None
        self._index_fails = False

    def open(self) -> None:
        """Make the directory where there is none, finish the files that a crash has left.

        Raises RepositoryError where it cannot be written.  O(what was written within a second of the crash).
        """
        try:
            self._options.directory.mkdir(parents=True, exist_ok=True)
            self._index = PageIndex(self._options.directory)
            for file in self._warc.abandoned():
                self._repair(file)
            self._warn_of_unknown_files()
        except (OSError, sqlite3.Error) as error:
            raise RepositoryError(self._options.directory, error) from error

    def _repair(self, file: OpenFile) -> None:
        """Cut off a record that is not whole, add to the index what it does not have, finish the file."""
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
            "%s was left by a crawl that ended suddenly: %d pages added to the index, %d bytes of a record cut off",
            file.name,
            pages,
            damaged,
        )

    def _warn_of_unknown_files(self) -> None:
        files = self._index.files()
        unknown = sum(not files.get(path.name, (False, 0))[0] for path in self._warc.finished())
        if unknown:
            logger.warning(
                "%d WARC files are not in the index of %s: `scrapy repository index` adds their pages",
                unknown,
                self._options.directory,
            )

    async def keep(self, capture: Capture) -> None:
        """Write a page; its records are with the operating system when this returns.

        Raises OSError where they cannot be written; then nothing of the page is kept.
        """
        url = target_uri(capture.url)
        if url != capture.url:
            self._count("repository/urls_changed", 1)
            capture = replace(capture, url=url)
        is_long = len(capture.body) > LONG_BODY
        digest = await _run(is_long, payload_digest, capture.body)
        original = self._original(capture, digest)
        packed = await _run(is_long, self._pack, capture, digest, original)
        full = self._write(packed)
        if full is not None:  # fsync of a gigabyte takes its time
            await asyncio.to_thread(full.finish)
            self._count("repository/files", 1)

    def _original(self, capture: Capture, digest: str) -> Original | None:
        """The page whose body this one has, too; where the index cannot be read there is none."""
        try:
            if capture.status == 304:
                return self._index.unchanged(capture.url)
            return self._index.original(digest) if capture.body and not capture.truncated else None
        except sqlite3.Error as error:
            self._index_failed(error)
            return None

    def _pack(self, capture: Capture, body_digest: str, original: Original | None) -> _Packed:
        is_revisit = original is not None or capture.status == 304
        digest: str | None = body_digest
        if capture.status == 304:  # the body is the one that the URL had
            digest = original.digest if original is not None else None
        response_id = new_id()
        measured = capture.measured
        row = PageRow(
            url=capture.url,
            fetched_at=capture.fetched_at,
            record_type="revisit" if is_revisit else "response",
            status=capture.status,
            content_type=capture.content_type,
            last_modified=capture.last_modified,
            length=len(capture.body),
            digest=digest if capture.body or is_revisit else None,
            server=measured.server,
            depth=measured.depth,
            quality=measured.quality,
            dns_time=measured.dns_time,
            connect_time=measured.connect_time,
            tls_time=measured.tls_time,
            response_time=measured.response_time,
            fetch_time=measured.fetch_time,
            ip_address=capture.ip_address,
            truncated=None if is_revisit else capture.truncated,
            record_id=f"urn:{response_id}",
            file="",
            offset=0,
            record_length=0,
        )
        records = page_records(capture, response_id, digest, original)
        return _Packed(row, tuple(map(self._options.compression.compress, records)))

    def _write(self, packed: _Packed) -> OpenFile | None:
        """Append to the file, and to the index; returns a file that has become full, to be finished."""
        full, written = None, b"".join(packed.records)
        if self._file is not None and self._file.size + len(written) > self._options.file_size:
            full, self._file = self._file, None
            self._index_complete(full.name)
        file = self._file = self._file or self._new_file()
        offset = file.append(written)
        self._index.add(packed.row._replace(file=file.name, offset=offset, record_length=len(packed.records[0])))
        self._count(f"repository/records/{packed.row.record_type}", 1)
        self._count("repository/records/request", 1)
        self._count("repository/records/metadata", 1)
        self._count("repository/bytes", len(written))
        return full

    def _new_file(self) -> OpenFile:
        file = self._warc.create()
        info = warcinfo_record(file.name, time.time(), self._options.info)
        try:
            packed = self._options.compression.compress(info)
            file.append(packed)
        except OSError:
            file.finish()  # empty: it goes
            raise
        self._count("repository/records/warcinfo", 1)
        self._count("repository/bytes", len(packed))
        return file

    def commit(self) -> None:
        """Store the rows that wait.

        Where the index cannot be written they go on waiting: it is counted, and the WARC files have all.
        Stat: ``repository/index_failures``.
        """
        try:
            self._index.commit()
        except sqlite3.Error as error:
            self._index_failed(error)

    def _index_complete(self, name: str) -> None:
        try:
            self._index.complete(name)
        except sqlite3.Error as error:
            self._index_failed(error)

    def _index_failed(self, error: sqlite3.Error) -> None:
        self._count("repository/index_failures", 1)
        if not self._index_fails:
            self._index_fails = True
            logger.error("The index of the repository fails, `scrapy repository index` will mend it: %s", error)

    def close(self) -> None:
        """Finish the file and the index. Raises OSError; the file is left to the next crawl then."""
        file, self._file = self._file, None
        try:
            if file is not None:
                self._index_complete(file.name)
                file.finish()
                self._count("repository/files", 1)
            else:
                self.commit()
        finally:
            self._index.close()


async def _run(in_thread: bool, function: Callable[..., T], *args: object) -> T:
    return await asyncio.to_thread(function, *args) if in_thread else function(*args)


def _add_all(index: PageIndex, scan: Scan) -> int:
    """How many pages there were."""
    pages = 0
    for row in scan:
        index.add(row)
        pages += 1
        if pages % ROWS_PER_COMMIT == 0:
            index.commit()
    return pages


def _log_unreadable(name: str, scan: Scan) -> None:
    if scan.unreadable:
        logger.error(
            "%s: %d records cannot be read, the first at byte %d", name, scan.unreadable, scan.first_unreadable
        )


def reindex(directory: Path) -> tuple[int, int]:
    """Add to the index what it does not have of a directory's finished files: (files read, pages found).

    O(bytes of these files).  Raises RepositoryError; records that cannot be read are skipped, and cost a line in the
    log for each file.
    """
    files = pages = 0
    try:
        with PageIndex(directory) as index:
            for path in WarcFiles(directory).finished():
                if index.is_complete(path.name):
                    continue
                with path.open("rb") as opened:
                    scan = Scan(opened, path.name, index.end(path.name), skip_damage=True)
                    pages += _add_all(index, scan)
                index.complete(path.name)
                files += 1
                _log_unreadable(path.name, scan)
    except (OSError, sqlite3.Error) as error:
        raise RepositoryError(directory, error) from error
    return files, pages
