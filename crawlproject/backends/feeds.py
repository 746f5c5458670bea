"""Protects files of the project: items in feeds, and what its own dupefilter has seen.

No run damages the items of earlier runs, and none is lost once its page is done.  The dupefilter's file is never ahead
of the frontier's store.
"""

from __future__ import annotations

import json
import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Generic, TypeVar
from urllib.parse import urlsplit

from scrapy.extensions.feedexport import FeedExporter
from w3lib.url import file_uri_to_path

from crawlproject.engine import keep_file
from crawlproject.storage.errors import StoreError
from crawlproject.storage.replacing import last_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.dupefilters import BaseDupeFilter


logger = logging.getLogger(__name__)

#: Formats with an item on each line.
_JSON_LINES = ("jsonlines", "jsonl", "jl")
Text = TypeVar("Text", str, bytes)


def overwritten_feed(crawler: Crawler) -> Path | None:
    """A local file, not empty, that one of ``FEEDS`` will overwrite; None if there is none."""
    return next((path for path, options in _written(crawler) if options.get("overwrite")), None)


def check_feeds(crawler: Crawler) -> None:
    """Raise ValueError for a local feed that cannot be written: each item would fail."""
    for path, _ in _local(crawler):
        if not _may_write(path):
            raise ValueError(f"the feed {path} cannot be written: its folder must be writable, and it must be a file")


def _may_write(path: Path) -> bool:
    try:
        path.stat()
    except FileNotFoundError:
        folder = next(parent for parent in path.absolute().parents if parent.exists())  # Scrapy makes those below it
        return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
    except OSError:  # a name that is too long; ``exists`` does not raise it since Python 3.14
        return False
    return not path.is_dir() and os.access(path, os.W_OK)


def flush_feeds(crawler: Crawler) -> None:
    """Hand the items in the buffers of feeds to the system, which keeps them if this process is killed.

    Raises StoreError. Items of compressed feeds, and of feeds that are uploaded, stay in memory or in
    temporary files until the feed ends.
    """
    exporter = crawler.get_extension(FeedExporter)
    for slot in [] if exporter is None else exporter.slots:
        if slot.file is not None and not slot.file.closed:
            try:
                slot.file.flush()
            except OSError as error:
                raise StoreError(slot.uri, f"its items cannot be written: {error.strerror or error}") from error


def cut_incomplete_items(crawler: Crawler) -> None:
    """Make files of JSON lines, to which this run appends, end with a complete line.

    A run that was killed, or had no space left, may have written a part of an item; its page is fetched again.
    """
    for path, options in _written(crawler):
        if options.get("format") in _JSON_LINES and not (options.get("overwrite") or options.get("postprocessing")):
            with suppress(OSError), path.open("rb+") as file:  # Scrapy reports a file that cannot be written
                start = last_line(file)
                file.seek(start)
                line = file.read()
                if line and _is_json(line):
                    file.write(b"\n")
                elif line:
                    file.truncate(start)
                    logger.warning("%s ended with a part of an item, which is removed (%d bytes)", path, len(line))


def _is_json(line: bytes) -> bool:
    try:
        json.loads(line)
    except ValueError:
        return False
    return True


def _written(crawler: Crawler) -> Iterator[tuple[Path, dict[str, Any]]]:
    for path, options in _local(crawler):
        with suppress(OSError):  # no such file
            if path.stat().st_size:
                yield path, options


def _local(crawler: Crawler) -> Iterator[tuple[Path, dict[str, Any]]]:
    exporter = crawler.get_extension(FeedExporter)
    if exporter is None or crawler.spider is None:
        return
    for uri, options in exporter.feeds.items():
        if urlsplit(uri).scheme in ("", "file"):
            with suppress(ValueError, TypeError):  # a name that needs ``uri_params``
                yield Path(file_uri_to_path(uri % _Parameters(crawler.spider))), options


class _Parameters(dict[str, Any]):
    """Values for the placeholders in a feed's URI: attributes of the spider; time and batch of a new file."""

    def __init__(self, spider: Spider) -> None:
        super().__init__(time="", batch_time="", batch_id=1)
        self._spider = spider

    def __missing__(self, name: str) -> Any:
        return getattr(self._spider, name, "")


class HeldFile(Generic[Text]):
    """Stands for the file of a dupefilter; what is written to it waits for ``release``, or ``release_sent``.

    Otherwise a kill leaves requests that the dupefilter has seen and that no store has: they would never be fetched.
    What waits when the process dies is lost: these requests are seen again when their pages are fetched again.
    """

    def __init__(self, file: IO[Text]) -> None:
        self._file: IO[Text] = file
        self._waiting: list[Text] = []
        self._sent: list[Text] = []

    def write(self, text: Text) -> int:
        """Keep ``text`` until the frontier has stored its request. O(1)."""
        self._waiting.append(text)
        return len(text)

    def flush(self) -> None:
        """Nothing: a commit of the frontier decides."""

    def send(self) -> None:
        """What waits now is on its way to the store: the next ``release_sent`` writes it."""
        self._sent += self._waiting
        self._waiting = []

    def release(self) -> None:
        """Write all: the frontier has stored everything. Raises StoreError."""
        self.send()
        self.release_sent()

    def release_sent(self) -> None:
        """Write what was on its way: the frontier has stored these requests. Raises StoreError."""
        texts, self._sent = self._sent, []
        try:
            for text in texts:
                self._file.write(text)
            self._file.flush()
        except OSError as error:
            raise StoreError(str(getattr(self._file, "name", "dupefilter")), error.strerror or str(error)) from error

    def close(self) -> None:
        """Close the file; what still waits was not stored."""
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def hold_file(dupefilter: BaseDupeFilter) -> HeldFile[Any] | None:
    """Put a ``HeldFile`` in place of the file of a dupefilter like Scrapy's own; None if it has no file."""
    file: Any = getattr(dupefilter, "file", None)
    if not (hasattr(file, "write") and hasattr(file, "flush")):
        return None
    held: HeldFile[Any] = HeldFile(file)
    keep_file(dupefilter, held)
    return held
