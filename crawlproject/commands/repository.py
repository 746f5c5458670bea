"""``scrapy repository``: reads the pages stored by a crawl (``FRONTIER_REPOSITORY_DIR``); also while the crawl runs."""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError
from scrapy.utils.log import configure_logging

from crawlproject.commands.described import Described
from crawlproject.options.extras import command_needs_extra

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

    from crawlproject.repository import PageIndex, PageRow
    from crawlproject.repository.reading import Message

logger = logging.getLogger(__name__)

#: Action -> number of arguments before the directory.
ACTIONS = {"ls": 0, "get": 1, "index": 0}


class Command(Described, ScrapyCommand):
    """Only the action ``index`` writes."""

    requires_crawler_process = False
    usage = "[options] <ls [DIR] | get URL [DIR] | index [DIR]>"
    summary = "List and get the pages stored by a crawl"
    explanation = (
        "ls: list pages. get URL: print the body of the newest page of this URL, decoded."
        " index: create or complete the index of a directory of WARC files. DIR defaults to FRONTIER_REPOSITORY_DIR."
    )

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--server", help="ls: only these servers: scheme://host[:port], host, .domain")
        parser.add_argument("--status", type=int, help="ls: only pages with this HTTP status")
        parser.add_argument("--limit", type=int, metavar="N", help="ls: maximum number of pages")
        parser.add_argument("--raw", action="store_true", help="get: print the body as received, without decoding")

    def run(self, args: list[str], opts: Namespace) -> None:
        from crawlproject.options.records import RepositorySettings

        assert self.settings is not None
        with command_needs_extra("repository", "repository"):
            from crawlproject.repository import PageIndex, RepositoryError, reindex
        configure_logging(self.settings)
        action, *rest = args or [""]
        if action not in ACTIONS or not ACTIONS[action] <= len(rest) <= ACTIONS[action] + 1:
            raise UsageError(f"expected {self.usage}", print_help=False)
        urls, given = rest[: ACTIONS[action]], rest[ACTIONS[action] :]
        configured = RepositorySettings.from_settings(self.settings).directory
        if not given and configured is None:
            raise UsageError("no directory given, and FRONTIER_REPOSITORY_DIR is not set", print_help=False)
        directory = Path(given[0] if given else configured or "")
        try:
            if action == "index":
                logger.info("Files read: %d, pages found: %d", *reindex(directory))
                return
            with PageIndex(directory, read_only=True) as index:
                if action == "get":
                    self._get(index, directory, urls[0], opts)
                else:
                    sys.stdout.writelines(_lines(islice(_rows(index, opts), opts.limit)))
        except (RepositoryError, ValueError) as error:
            self.fail(str(error))

    def _get(self, index: PageIndex, directory: Path, url: str, opts: Namespace) -> None:
        from crawlproject.repository.reading import decoded
        from crawlproject.urls import resolve

        spellings = (url, resolve(url) or url)  # as typed, and in canonical form
        row = next((row for one in spellings for row in index.rows(url=one, newest_first=True)), None)
        if row is None:
            self.fail(f"{directory}: no page of {url!r}")
            return
        try:
            message = _message(index, directory, row)
            body = message.body if opts.raw else decoded(message)
        except (OSError, ValueError) as error:
            self.fail(f"{url}: {error}")
            return
        sys.stdout.buffer.write(body)
        sys.stdout.flush()


def _message(index: PageIndex, directory: Path, row: PageRow) -> Message:
    """The response of a page; for a revisit, with the body of the original page. Raises OSError, ValueError."""
    from crawlproject.repository import WarcFiles
    from crawlproject.repository.reading import read_message

    files = WarcFiles(directory)
    message = read_message(files.path(row.file), row.offset)
    if row.record_type != "revisit":
        return message
    original = index.original(row.digest) if row.digest is not None else None
    if original is None:
        raise ValueError(f"the page of {_iso(row.fetched_at)} repeats an earlier page, which is not in this repository")
    return message._replace(body=read_message(files.path(original.file), original.offset).body)


def _rows(index: PageIndex, opts: Namespace) -> Iterator[PageRow]:
    """The pages of a server, or all. Raises ValueError for a wrong name."""
    from crawlproject.urls.server_key import covers, server_key, server_name

    rows = index.rows(status=opts.status)
    if not opts.server:
        return rows
    server = server_name(opts.server.rstrip("/"))
    if "://" in server:
        return index.rows(server=server, status=opts.status)
    return (row for row in rows if covers(server, server_key(row.url)))


def _lines(rows: Iterator[PageRow]) -> Iterator[str]:
    for row in rows:
        media_type = (row.content_type or "-").partition(";")[0].strip()
        when, status = _iso(row.fetched_at)[:19], row.status or "-"
        yield f"{when}Z {status:>3} {row.record_type:8} {row.length:>9} {media_type} {row.url}\n"


def _iso(time: float) -> str:
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds")
