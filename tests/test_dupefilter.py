"""The dupefilter by itself: what counts as one URL, over what store, over runs, and what it reports."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from scrapy import FormRequest, Request
from scrapy.utils.test import get_crawler

from crawlproject.dupefilter import STATS, SeenDupeFilter
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


@pytest.mark.parametrize("part", [None, 7 << 64])
def test_store_has_the_two_level_keys(part: int | None) -> None:
    """The server's part first, also of what is no plain GET; a store may choose it."""
    store = ListStore()
    seen = dupefilter()
    seen.use_store(store, *([] if part is None else [lambda url: part]))
    seen.open()
    seen.urls_are_new([A, B])
    seen.request_seen(FormRequest(A, formdata={"q": "x"}))
    assert seen.key_of(A) == store.keys[0]
    assert len(set(store.keys)) == 3
    if part is None:
        assert store.keys[:2] == [url_key(A), url_key(B)]
    assert store.keys[2] >> 64 == (part or url_key(A)) >> 64


def test_store_cannot_be_changed_in_use() -> None:
    """What had been met would be forgotten."""
    seen = dupefilter()
    seen.url_is_new(A)
    with pytest.raises(RuntimeError, match="in use"):
        seen.use_store(None)


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


@pytest.mark.parametrize("kind", ["exact", "bloom"])
def test_stats(kind: str) -> None:
    """Two URLs met, three tests of the store, as nothing stands before it in memory; of a bloom, what it lost."""
    made = crawler(FRONTIER_SEEN_SET=kind)
    seen = SeenDupeFilter.from_crawler(made)
    seen.open()
    seen.urls_are_new([A, B, A])
    seen.close("finished")
    counts = {name: made.stats.get_value(name) for name in STATS.values() if made.stats.get_value(name) is not None}
    if kind == "exact":
        assert counts == {"seen/urls": 2, "seen/cache_hits": 0, "seen/store_lookups": 3}
    else:
        assert counts == {
            "seen/urls": 2,
            "seen/lost": pytest.approx(0, abs=1e-3),
            "seen/loss_rate": pytest.approx(0, abs=1e-3),
        }
