"""Requests to bytes and back."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy import FormRequest, Request, Spider
from scrapy.http import JsonRequest

from crawlproject.frontier import Entry
from crawlproject.link_request import link_failed, link_request
from crawlproject.request_codec import NotSerializableError, RequestCodec

URL = "http://a.example/x"


class CodecSpider(Spider):
    name = "codec"

    def parse_item(self, response: object) -> None: ...

    def failed(self, failure: object) -> None: ...

    alias = failed


SPIDER = CodecSpider()
CODEC = RequestCodec(SPIDER)


def round_trip(request: Request) -> Request:
    payload = CODEC.encode(request)
    return CODEC.decode(Entry(request.url, 1.0, request.priority, 0, payload))


def same(one: Request, other: Request) -> bool:
    names = one.attributes
    return type(one) is type(other) and all(getattr(one, name) == getattr(other, name) for name in names)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text() | st.integers() | st.binary(), inner, max_size=3)
        | st.sets(st.integers() | st.text(), max_size=3)
    ),
    max_leaves=10,
)
TOKENS = st.text(st.characters(min_codepoint=48, max_codepoint=122), min_size=1, max_size=8)


@given(
    meta=st.dictionaries(st.text(), VALUES, max_size=4),
    cb_kwargs=st.dictionaries(TOKENS, VALUES, max_size=3),
    headers=st.dictionaries(TOKENS, st.lists(st.binary(max_size=9), max_size=2), max_size=3),
    body=st.binary(max_size=20),
    cookies=st.dictionaries(TOKENS, TOKENS, max_size=2) | st.just([{"name": "a", "value": "b"}]),
    method=st.sampled_from(["GET", "POST", "PUT"]),
    priority=st.integers(-1000, 1000),
    dont_filter=st.booleans(),
    callback=st.sampled_from([None, SPIDER.parse_item, SPIDER.parse]),
    errback=st.sampled_from([None, SPIDER.failed, link_failed]),
    flags=st.lists(TOKENS, max_size=2),
)
def test_any_request_comes_back_equal(**arguments: object) -> None:
    """Every attribute, types included."""
    request = Request(URL, **arguments)
    assert same(round_trip(request), request)


@pytest.mark.parametrize(
    "request_",
    [FormRequest(URL, formdata={"a": "b"}), JsonRequest(URL, data={"a": [1]}, dumps_kwargs={"sort_keys": True})],
)
def test_scrapys_own_classes_come_back(request_: Request) -> None:
    """With their class, method and body."""
    assert same(round_trip(request_), request_)


def test_a_plain_request_costs_one_byte() -> None:
    """URL and priority are stored elsewhere; a link with the default callback costs nothing."""
    assert CODEC.encode(Request(URL, priority=5)) == b"r"
    assert CODEC.encode_link(None) is None
    assert CODEC.encode_link(SPIDER.parse_item) == b"cparse_item"
    assert CODEC.decode_link(b"cparse_item") == SPIDER.parse_item


def test_a_link_that_became_a_request_comes_back() -> None:
    """As when it is retried."""
    request = link_request(Entry(URL, 0.5, 0, 3, SPIDER.parse_item))
    assert same(round_trip(request), request)


@pytest.mark.parametrize(
    "request_",
    [
        Request(URL, meta={"item": object()}),
        Request(URL, callback=print),
        Request(URL, callback=lambda response: None),
        Request(URL, callback=CodecSpider().parse_item),
        Request(URL, cb_kwargs={"x": {"y": [range(3)]}}),
    ],
)
def test_what_cannot_be_written_says_so(request_: Request) -> None:
    """Objects, and callbacks that are not methods of this spider."""
    with pytest.raises(NotSerializableError):
        CODEC.encode(request_)


def test_what_holds_itself_cannot_be_written() -> None:
    """It does not end in a RecursionError."""
    meta: dict[str, object] = {}
    meta["meta"] = meta
    with pytest.raises(NotSerializableError):
        CODEC.encode(Request(URL, meta=meta))


@pytest.mark.parametrize(
    "values",
    [
        {"callback": "missing"},
        {"callback": "name"},
        {"callback": ["parse"]},
        {"_class": "os.system"},
        {"_class": "subprocess.Popen"},
        {"_class": "antigravity.Request"},
        {"evil": 1},
    ],
)
def test_a_forged_entry_is_an_error(values: dict[str, object]) -> None:
    """It names no method of the spider, no class of requests, or an unknown attribute; nothing is imported."""
    payload = b"r" + json.dumps(values).encode()
    with pytest.raises(ValueError, match=r"method|class|attributes"):
        CODEC.decode(Entry(URL, payload=payload))


def test_an_alias_of_a_callback_is_found() -> None:
    """By any name under which the spider has it."""
    assert round_trip(Request(URL, errback=SPIDER.alias)).errback == SPIDER.failed
