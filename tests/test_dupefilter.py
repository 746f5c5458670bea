"""The dupefilter by itself: what counts as one URL, over what store, over runs, and what it reports."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scrapy import FormRequest, Request
from scrapy.utils.test import get_crawler

from crawlproject.dupefilter import STATS, SeenDupeFilter
from crawlproject.scheduler import FrontierScheduler
from crawlproject.seen.fingerprint import url_key
from crawlproject.storage.directory import StoreLabel
from crawlproject.storage.disk import DiskStore
from crawlproject.storage.seen import DiskSeenStore
from tests.seen.stores import ListStore

A, B = "http://a.example/", "http://b.example/"


def dupefilter(**settings: Any) -> SeenDupeFilter:
    """As Scrapy's own scheduler makes it."""
    return SeenDupeFilter.from_crawler(crawler(**settings))


def crawler(**settings: Any) -> Any:
    """A crawler ready for its components."""
    made = get_crawler(settings_dict=settings)
    made.request_fingerprinter = made.request_fingerprinter or _fingerprinter()
    return made


def _fingerprinter() -> Any:
    from scrapy.utils.request import RequestFingerprinter

    return RequestFingerprinter()


@pytest.fixture(params=["exact", "bloom", "store"])
def seen(request: pytest.FixtureRequest) -> Iterator[SeenDupeFilter]:
    """Of every kind."""
    kind = request.param
    made = dupefilter(FRONTIER_SEEN_SET="exact" if kind == "store" else kind)
    if kind == "store":
        made.use_store(ListStore())
    made.open()
    yield made
    made.close("finished")


def test_links_in_bulk_are_answered_in_order(seen: SeenDupeFilter) -> None:
    """The first of equal ones is new; the order of parameters does not count."""
    urls = [A, B, A, f"{A}?x=1&y=2", f"{A}?y=2&x=1"]
    assert seen.urls_are_new(urls) == [True, True, False, True, False]
    assert seen.urls_are_new([B, f"{B}c"]) == [False, True]
    assert seen.urls_are_new([]) == []
    assert seen.url_is_new(f"{B}d")
    assert not seen.url_is_new(f"{B}d")


def test_requests_and_links_share_one_set(seen: SeenDupeFilter) -> None:
    """A plain GET is its canonical URL."""
    assert seen.urls_are_new([A]) == [True]
    assert seen.request_seen(Request("http://A.EXAMPLE:80/#top"))
    assert not seen.request_seen(Request(B))
    assert seen.urls_are_new([B]) == [False]


def test_other_requests_count_by_scrapys_fingerprint(seen: SeenDupeFilter) -> None:
    """A POST is not the GET of its URL, and its body counts."""
    forms = [FormRequest(A, formdata={"q": text}) for text in ("one", "two", "one")]
    assert [seen.request_seen(form) for form in forms] == [False, False, True]
    assert not seen.request_seen(Request(A))
    assert not seen.request_seen(Request("data:,x"))
    assert seen.request_seen(Request("data:,x"))


def test_store_has_the_two_level_keys() -> None:
    """The server's part first, also of what is no plain GET."""
    store = ListStore()
    seen = dupefilter()
    seen.use_store(store)
    seen.open()
    seen.urls_are_new([A, B])
    seen.request_seen(FormRequest(A, formdata={"q": "x"}))
    assert store.keys[:2] == [url_key(A), url_key(B)]
    assert store.keys[2] >> 64 == url_key(A) >> 64


def test_a_store_may_choose_the_servers_part() -> None:
    """Of links and of requests that are no plain GET."""
    store = ListStore()
    seen = dupefilter()
    seen.use_store(store, lambda url: 7 << 64)
    seen.open()
    seen.urls_are_new([A, B])
    seen.request_seen(FormRequest(A, formdata={"q": "x"}))
    assert seen.key_of(A) == store.keys[0]
    assert [key >> 64 for key in store.keys] == [7, 7, 7]
    assert len(set(store.keys)) == 3


def test_store_cannot_be_changed_in_use() -> None:
    """What had been met would be forgotten."""
    seen = dupefilter()
    seen.url_is_new(A)
    with pytest.raises(RuntimeError, match="in use"):
        seen.use_store(None)


@pytest.mark.parametrize("kind", ["exact", "bloom"])
def test_jobdir_keeps_what_was_met(tmp_path: Path, kind: str) -> None:
    """Over runs, in a file of 8 bytes a URL, whatever kind wrote it."""
    settings = {"JOBDIR": str(tmp_path / "job")}
    first = dupefilter(FRONTIER_SEEN_SET=kind, **settings)
    first.open()
    assert first.urls_are_new([A, A, B]) == [True, False, True]
    first.close("shutdown")
    assert (tmp_path / "job" / "seen.keys").stat().st_size == 16 + 2 * 8
    for later in ("exact", "bloom"):
        again = dupefilter(FRONTIER_SEEN_SET=later, **settings)
        again.open()
        assert again.urls_are_new([B, A]) == [False, False]
        again.close("finished")
    assert (tmp_path / "job" / "seen.keys").stat().st_size == 16 + 2 * 8


def test_jobdir_is_left_to_a_scheduler_with_a_store(tmp_path: Path) -> None:
    """No file, with a store or with None, whatever the kind."""
    for name, store, kind in (
        ("none", None, "exact"),
        ("store", ListStore(), "exact"),
        ("bloom", ListStore(), "bloom"),
    ):
        seen = dupefilter(JOBDIR=str(tmp_path / name), FRONTIER_SEEN_SET=kind)
        seen.use_store(store)
        seen.open()
        seen.url_is_new(A)
        seen.close("finished")
        assert not (tmp_path / name / "seen.keys").exists()


@pytest.mark.parametrize(("first", "second"), [("bloom", "bloom"), ("bloom", "exact"), ("exact", "bloom")])
def test_a_bloom_has_met_what_was_committed(tmp_path: Path, first: str, second: str) -> None:
    """After a crash no URL is met that is not queued: both stand in one commit. The kind may change."""
    label = StoreLabel("web", "quality")
    with DiskStore(tmp_path, label) as store:
        seen = dupefilter(FRONTIER_SEEN_SET=first)
        seen.use_store(DiskSeenStore(store))
        seen.open()
        assert seen.urls_are_new([A, A]) == [True, False]
        store.commit()
        assert seen.urls_are_new([A, B]) == [False, True]
    with DiskStore(tmp_path, label) as store:
        seen = dupefilter(FRONTIER_SEEN_SET=second)
        seen.use_store(DiskSeenStore(store))
        seen.open()
        assert seen.urls_are_new([B, A]) == [True, False]


def test_frontier_in_memory_leaves_no_file(tmp_path: Path) -> None:
    """Its queues are gone after the run; what it had met must not look done in the next."""
    made = crawler(JOBDIR=str(tmp_path / "job"), FRONTIER_BACKEND="memory", DUPEFILTER_CLASS=SeenDupeFilter)
    made.spider = made._create_spider("test")
    scheduler = FrontierScheduler.from_crawler(made)
    scheduler.open(made.spider)
    assert scheduler.dupefilter.url_is_new(A)
    assert not (tmp_path / "job" / "seen.keys").exists()


def test_damaged_file_stops_the_start(tmp_path: Path) -> None:
    """With its name, and nothing is written to it."""
    (tmp_path / "seen.keys").write_text("something else entirely")
    seen = dupefilter(JOBDIR=str(tmp_path))
    with pytest.raises(ValueError, match=r"seen\.keys: not a file of seen keys"):
        seen.open()
    seen.close("shutdown")
    assert (tmp_path / "seen.keys").read_text() == "something else entirely"


def test_stats_of_an_exact_set() -> None:
    """Two URLs met, three tests of the store, as nothing stands before it in memory."""
    made = crawler()
    seen = SeenDupeFilter.from_crawler(made)
    seen.open()
    seen.urls_are_new([A, B, A])
    seen.close("finished")
    counts = {name: made.stats.get_value(name) for name in STATS.values() if made.stats.get_value(name) is not None}
    assert counts == {"seen/urls": 2, "seen/cache_hits": 0, "seen/store_lookups": 3}


def test_stats_of_a_bloom_say_what_it_lost() -> None:
    """Nothing as long as it is nearly empty."""
    made = crawler(FRONTIER_SEEN_SET="bloom")
    seen = SeenDupeFilter.from_crawler(made)
    seen.open()
    seen.urls_are_new([A, B])
    seen.close("finished")
    assert made.stats.get_value("seen/urls") == 2
    assert 0 <= made.stats.get_value("seen/lost") < 0.001
    assert 0 <= made.stats.get_value("seen/loss_rate") < 0.001
