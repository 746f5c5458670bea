"""``scrapy frontier redis://...``: a real crawl by two workers, while it runs and after it was stopped."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Awaitable, Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings

from crawlproject.frontier import Entry
from crawlproject.options.scheduling import FrontierOptions
from crawlproject.storage.errors import StoreError
from crawlproject.workers.blobs import encode_message
from crawlproject.workers.connection import RedisConnector
from crawlproject.workers.control import Control, Record
from crawlproject.workers.keys import Keys
from crawlproject.workers.local import LocalCopy
from crawlproject.workers.partitions import Partitions, assign
from crawlproject.workers.stored_crawl import stored_crawl
from testbed.redis_server import RunningRedis
from testbed.web import RunningWeb, WebSpec, running_web
from tests.crawl.workers import Workers, redis_settings, workers
from tests.processes import run_python

#: More pages than are fetched before the workers are stopped, even if that takes long.
SPEC = WebSpec(servers=12, pages=4_000, seed=4, time_scale=0.3)
#: A user who may write nothing.
READER = "user reader on >secret ~* resetchannels -@all +@read +@connection +time"


def scrapy(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run_python("-m", "scrapy", "frontier", *arguments)


def report(url: str, *arguments: str) -> dict[str, Any]:
    done = scrapy(url, "--json", *arguments)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.fixture(scope="module")
def redis_of_all(redis_program: Path) -> Iterator[RunningRedis]:
    with RunningRedis(program=redis_program, config=[READER]) as server:
        yield server


@pytest.fixture(scope="module")
def web() -> Iterator[RunningWeb]:
    with running_web(SPEC) as web:
        yield web


@pytest.fixture(scope="module")
def url(redis_of_all: RunningRedis) -> str:
    """Of a user who may only read."""
    return redis_of_all.url.replace("redis://", "redis://reader:secret@")


@pytest.fixture(scope="module")
def running_report(
    redis_of_all: RunningRedis, web: RunningWeb, url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[dict[str, Any], Workers]]:
    """What was told while two workers crawled; then they were stopped."""
    folder = tmp_path_factory.mktemp("workers")
    delays = {"FRONTIER_MIN_DELAY": 0.2, "FRONTIER_MAX_DELAY": 0.2}
    settings = redis_settings(redis_of_all.url, FRONTIER_MAX_SESSIONS=4, FRONTIER_LEASE=600, **delays)

    def is_shared() -> bool:
        """Whether each partition has the owner that it should have."""
        ids = [name.decode() for name in client.hkeys("{web}:workers")]  # type: ignore[union-attr]
        owners = [(client.hget(f"{{web:{number}}}:m", "owner") or b"").decode() for number in range(256)]  # type: ignore[union-attr]
        return len(ids) == 2 and owners == assign(256, ids)

    def stored() -> int:
        return sum(int(client.hget(f"{{web:{number}}}:m", "stored") or 0) for number in range(256))  # type: ignore[arg-type]

    with workers(folder, web, **settings) as crew, redis_of_all.client() as client:
        for _ in range(2):
            crew.add()
        crew.until(is_shared, "each had its share")
        crew.wait_for_pages(20)
        crew.until(lambda: stored() > 10, "URLs were queued")
        for number in crew.running():
            crew.pause(number)
        found = report(url)
        for number in crew.running():
            crew.resume(number)
            crew.interrupt(number)
        crew.wait_all()
        yield found, crew


def test_a_running_crawl(running_report: tuple[dict[str, Any], Workers]) -> None:
    """Workers with their figures, each partition with an owner, queues; by a user who cannot write."""
    found, crew = running_report
    assert (found["crawl"], found["spider"], found["workers_alive"]) == ("running", "web", 2)
    assert (found["partitions"], found["without_owner"]) == (256, 0)
    assert {worker["pid"] for worker in found["workers"]} == {worker.process.pid for worker in crew.all}
    for worker in found["workers"]:
        assert worker["since"].startswith("20")
        assert 0 < worker["lease"] < 601
        assert worker["lag"] >= 0
        assert worker["sessions"] >= 0
        assert 0 <= worker["partitions"] <= 256  # as of its last sign of life
    ids = {worker["worker"] for worker in found["workers"]}
    assert {share["owner"] for share in found["shares"]} == ids
    assert [share["partition"] for share in found["shares"]] == list(range(256))
    assert found["urls_queued"] > 0
    assert found["urls_seen"] >= found["urls_queued"]
    assert found["servers"] <= SPEC.servers
    assert {server["owner"] for server in found["top_servers"]} <= ids


def test_a_stopped_crawl(running_report: tuple[dict[str, Any], Workers], url: str, web: RunningWeb) -> None:
    """What is queued are the URLs that nobody has fetched; nobody owns them."""
    _, crew = running_report
    found = report(url, "--urls", "--limit", "1000")
    assert (found["workers"], found["workers_alive"], found["without_owner"]) == ([], 0, 256)
    assert found["inbox_messages"] == sum(share["inbox"] for share in found["shares"])
    queued = [one["url"] for server in found["top_servers"] for one in server["queue"]]
    assert len(queued) == found["urls_queued"] == sum(share["urls"] for share in found["shares"]) > 0
    expected, fetched = set(web.web.expected_urls()), {item["url"] for item in crew.items()}
    assert not fetched & set(queued), sorted(fetched & set(queued))
    assert set(queued) & expected
    assert found["pages"] >= len(fetched)
    for server in found["top_servers"]:
        share = found["shares"][server["partition"]]
        assert (share["owner"], server["owner"]) == ("", "")
        assert share["servers"] >= 1
        assert server["rank"] >= 0


def test_what_became_of_all_urls(running_report: tuple[dict[str, Any], Workers], url: str) -> None:
    """Each URL seen is queued, or has ended once; by whichever worker."""
    _, crew = running_report
    found = report(url, "--refused")
    ends = {(row["stage"], row["reason"]): row for row in found["ends"]}
    ended = sum(row["count"] for (stage, _), row in ends.items() if stage != "link")
    assert ended + found["urls_queued"] == found["urls_seen"]
    pages = [row for (_, reason), row in ends.items() if reason in ("fetched", "copy", "near_copy")]
    assert sum(row["count"] for row in pages) == found["pages"] >= len({item["url"] for item in crew.items()})
    assert 0 < len(ends["answer", "fetched"]["examples"]) <= 5


def test_what_became_of_a_page(
    running_report: tuple[dict[str, Any], Workers], url: str, redis_of_all: RunningRedis
) -> None:
    """Queued, done, found but not yet read by its worker, or unknown; only its partition is read."""
    _, crew = running_report
    longest = max(report(url, "--urls")["top_servers"], key=lambda server: len(server["queue"]))
    queued, fetched = longest["queue"][-1]["url"], crew.items()[0]["url"]
    found = report(url, "--url", queued)
    place = f"queued, or in progress: number {len(longest['queue'])} of its server"
    assert (found["url"], found["url_state"]) == (queued, place)
    assert (found["partition"], found["partitions"], found["owner"]) == (longest["partition"], 256, "")
    assert [server["server"] for server in found["top_servers"]] == [longest["server"]]
    known = report(url, "--url", fetched)
    assert (known["stage"], known["reason"]) == ("answer", "fetched")
    new = "http://new.example/page"
    assert report(url, "--url", new)["url_state"].startswith("never queued")
    with redis_of_all.client() as client:
        inbox = Keys("web").i(Partitions(256).of_url(new))
        for blob in (b"damaged", encode_message([Entry("http://new.example/"), Entry(new)])):
            client.xadd(inbox, {"b": blob})
        try:
            done = scrapy(url, "--url", new)
        finally:
            client.delete(inbox)
    assert "found: on its way to the worker of its server" in done.stdout


def test_snapshots_that_are_replaced_meanwhile(
    running_report: object, url: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """What was read of such a partition is dropped, and read again; of all that fail, the first is told, once."""
    records, calls = Control.records, dict[int, int]()

    async def changing(self: Control, partitions: Sequence[int]) -> list[Record]:
        found = await records(self, partitions)
        for number in partitions:
            calls[number] = calls.get(number, 0) + 1
        return [
            replace(record, gen="new") if calls[number] == 1 and number % 3 == 0 else record
            for number, record in zip(partitions, found, strict=True)
        ]

    def read() -> tuple[int, int, int]:
        connector = RedisConnector({"url": url})
        frontier = FrontierOptions.from_settings(Settings()).new_frontier()
        with stored_crawl(
            connector,
            Keys("web"),
            5.0,
            lambda partitions, path, label, now: LocalCopy(
                frontier, partitions, path, label, lambda: now, indexed=False
            ),
        ) as crawl:
            counts = frontier.counts()  # by state: rests end between two reads
            return counts["urls"], counts["servers"], crawl.marks.total()

    expected = read()
    monkeypatch.setattr(Control, "records", changing)
    assert read() == expected
    assert expected[0] > 0
    assert set(calls.values()) == {1, 3}
    monkeypatch.setattr(
        Control, "records", lambda self, numbers: records_with_gen(records(self, numbers), gen=str(next(names)))
    )
    with pytest.raises(StoreError, match="partition 0: changes too fast, try again"):
        read()
    assert caplog.text == ""


names = count()


async def records_with_gen(found: Awaitable[list[Record]], gen: str) -> list[Record]:
    return [replace(record, gen=gen) for record in await found]


@pytest.mark.parametrize(
    ("change", "arguments", "code", "told"),
    [
        ((":secret@", ":wrong@"), (), 1, "wrong or missing user name or password"),
        (("/0", "/0"), ("--key", "books"), 1, "there is no crawl 'books': name it by --key"),
        (("/0", "/0"), ("--key", "a{b"), 2, "must not be empty and must not contain braces"),
        (("redis://", "http://"), (), 2, "must be redis://, rediss://, unix:// or redis+cluster://"),
        (("/0", "/0"), ("--server", "nowhere.example"), 1, "no URL of 'nowhere.example' is known"),
    ],
)
def test_errors(
    change: tuple[str, str], arguments: tuple[str, ...], code: int, told: str, running_report: object, url: str
) -> None:
    """One line, without the password."""
    done = scrapy(url.replace(*change), *arguments)
    assert done.returncode == code, done.stderr
    *usage, line = done.stderr.strip().splitlines()
    assert (len(usage), told in line) == (0 if code == 1 else 3, True)
    assert "secret" not in line
    assert "wrong@" not in line


def test_damaged_crawl(redis_server: RunningRedis) -> None:
    """What is no crawl, and a partition that cannot be read: one line."""
    client = redis_server.client()
    client.hset("{web}:meta", mapping={"crawl": "1", "order": "quality", "settings": '{"FRONTIER_PARTITIONS": "16"}'})
    client.rpush("{web:3}:j", b"nonsense")
    done = scrapy(redis_server.url)
    assert done.returncode == 1
    assert ": the crawl 'web' cannot be read: " in done.stderr
    assert done.stderr.count("\n") == 1
    client.set("{web}:info", "another type")
    done = scrapy(redis_server.url)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
