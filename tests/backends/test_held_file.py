"""A project's own dupefilter never has a request on disk that the frontier does not have."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest
from scrapy import Request, Spider
from scrapy.dupefilters import RFPDupeFilter
from scrapy.utils.test import get_crawler

from crawlproject.backends.feeds import HeldFile
from crawlproject.scheduler import FrontierScheduler
from crawlproject.storage.errors import StoreError

URL = "http://a.example/"
#: Bytes of a request in the file of ``RFPDupeFilter``.
SIZE = 22


class FlushingFilter(RFPDupeFilter):
    """Writes each request at once."""

    def request_seen(self, request: Request) -> bool:
        seen = super().request_seen(request)
        if self.file:
            self.file.flush()
        return seen


def run(folder: Path, crawl: Callable[[FrontierScheduler], None], **settings: object) -> None:
    """``crawl`` with an open scheduler of a crawl in ``folder``, within an event loop."""

    async def main() -> None:
        addon = {"crawlproject.addon.FrontierAddon": 300}
        crawler = get_crawler(
            settings_dict={"ADDONS": addon, "JOBDIR": str(folder), "DUPEFILTER_CLASS": FlushingFilter, **settings}
        )
        crawler.spider = spider = Spider.from_crawler(crawler, name="own")
        scheduler = FrontierScheduler.from_crawler(crawler)
        scheduler.open(spider)
        crawl(scheduler)

    asyncio.run(main())


def seen(folder: Path) -> int:
    return (folder / "requests.seen").stat().st_size // SIZE


def test_requests_are_seen_on_disk_when_they_are_stored(tmp_path: Path) -> None:
    """Else a kill would leave requests that are seen and nowhere queued, which are never fetched."""

    def first(scheduler: FrontierScheduler) -> None:
        assert scheduler.enqueue_request(Request(f"{URL}1"))
        assert seen(tmp_path) == 0
        scheduler._backend._commit()  # type: ignore[attr-defined]
        assert seen(tmp_path) == 1
        assert scheduler.enqueue_request(Request(f"{URL}2"))
        assert not scheduler.enqueue_request(Request(f"{URL}2"))
        assert seen(tmp_path) == 1
        scheduler.close("finished")
        assert seen(tmp_path) == 2

    def second(scheduler: FrontierScheduler) -> None:
        assert not scheduler.enqueue_request(Request(f"{URL}1"))
        assert len(scheduler) == 2
        scheduler.close("finished")

    run(tmp_path, first)
    run(tmp_path, second)


def test_only_what_was_sent_is_written(tmp_path: Path) -> None:
    """What came later is not in the store yet."""
    path = tmp_path / "seen"
    with path.open("w") as file:
        held: HeldFile[str] = HeldFile(file)
        held.write("1")
        held.send()
        held.write("2")
        for _ in range(2):
            held.release_sent()
            assert path.read_text() == "1"
        held.release()
        assert path.read_text() == "12"


def test_a_file_on_a_full_disk_is_named() -> None:
    """By the error of a store, which ends the crawl in order."""
    with Path("/dev/full").open("wb", buffering=0) as file:
        held: HeldFile[bytes] = HeldFile(file)
        held.write(b"x")
        with pytest.raises(StoreError, match=r"^/dev/full: No space left on device$"):
            held.release()
