"""Requests to bytes and back."""

import dataclasses
import enum
import json
import sys
from collections import Counter
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from threading import Lock
from types import ModuleType
from urllib.parse import urlsplit
from uuid import UUID
from zoneinfo import ZoneInfo

import attrs
import dateparser
import dateutil.parser
import numpy
import pytest
import pytz
from bs4 import BeautifulSoup
from hypothesis import given, settings
from hypothesis import strategies as st
from lxml import html
from scrapy import Field, FormRequest, Item, Request, Spider
from scrapy.http import JsonRequest

from crawlproject.frontier import Entry
from crawlproject.frontier.guard.judge import demoted
from crawlproject.requests.codec import MAX_DEPTH, NotSerializableError, RequestCodec
from crawlproject.requests.entries import link_failed, link_request
from crawlproject.requests.meta import THIS_RUN, WAS_LAST

URL = "http://a.example/x"


class CodecSpider(Spider):
    name = "codec"

    def parse_item(self, response: object) -> None: ...

    def failed(self, failure: object) -> None: ...

    alias = failed


class Book(Item):
    title = Field()
    tags = Field()


class NumberedBook(Item):
    """Its constructor wants something, and does more."""

    title = Field()

    def __init__(self, number: int) -> None:
        super().__init__(title=str(number))
        RAN.append("constructor")

    def __setitem__(self, name: str, value: object) -> None:
        super().__setitem__(name, f"number {value}")


class LockedBook(Book):
    """Holds more than its fields."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = Lock()


@dataclasses.dataclass(frozen=True)
class Author:
    name: str
    born: date | None = None
    ran: bool = dataclasses.field(default=False, init=False)

    def __post_init__(self) -> None:
        RAN.append(self.name)


@dataclasses.dataclass
class Locked:
    name: str

    def __post_init__(self) -> None:
        self.lock = Lock()


@attrs.define
class Shelf:
    books: list[Book] = attrs.field(converter=list)
    _place: int = 0


RAN: list[str] = []
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


@settings(max_examples=40)
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


@pytest.mark.parametrize(
    "text",
    [
        html.fromstring("<a>a <b>link</b></a>").xpath("string()"),  # as in the meta of a CrawlSpider's requests
        html.fromstring("<a>a link</a>").xpath("text()")[0],
        BeautifulSoup("<a>a link</a>", "html.parser").a.string,
    ],
)
def test_a_parsers_text_comes_back_as_text(text: str) -> None:
    """Without the page that it refers to."""
    assert type(text) is not str
    request = round_trip(Request(URL, meta={"link_text": text}, cb_kwargs={"texts": {text: [text]}}))
    assert request.meta == {"link_text": "a link"}
    assert request.cb_kwargs == {"texts": {"a link": ["a link"]}}
    assert type(request.meta["link_text"]) is str


def test_items_with_a_constructor_of_their_own_are_stored() -> None:
    """It does not run when the item is restored, and fields are set as they are."""
    book = NumberedBook(7)
    RAN.clear()
    [stored] = round_trip(Request(URL, meta={"books": [book]})).meta["books"]
    assert (type(stored), dict(stored), RAN) == (NumberedBook, {"title": "number 7"}, [])


@pytest.mark.parametrize(
    "moment",
    [
        pytz.timezone("Europe/Berlin").localize(datetime(2026, 7, 1, 12)),
        datetime(2026, 7, 1, 12, tzinfo=ZoneInfo("Europe/Berlin")),
        dateutil.parser.parse("2026-07-01T12:00:00-03:00"),
        "1 July 2026 12:00 EST",
    ],
    ids=str,
)
def test_time_zones_come_back_as_their_offset(moment: datetime | str) -> None:
    """The time is the same, here and in UTC."""
    moment = dateparser.parse(moment) if isinstance(moment, str) else moment
    [stored] = round_trip(Request(URL, meta={"at": [moment]})).meta["at"]
    assert (stored, stored.isoformat()) == (moment, moment.isoformat())


def test_a_plain_request_costs_one_byte() -> None:
    """URL and priority are stored elsewhere; a link with the default callback costs nothing."""
    assert CODEC.encode(Request(URL, priority=5)) == b"r"
    assert CODEC.encode_link(None) is None
    assert CODEC.encode_link(SPIDER.parse_item) == b"cparse_item"
    assert CODEC.decode_link(b"cparse_item") == SPIDER.parse_item


def test_the_request_of_a_demoted_link_says_so() -> None:
    """The guard reads it: by then, everything of a higher rank has been read."""
    entry = Entry(URL, 0.5, 0, 3, SPIDER.parse_item)
    assert WAS_LAST not in link_request(entry).meta
    assert link_request(demoted(entry)).meta[WAS_LAST]


def test_keys_that_mean_something_to_one_run_are_not_written() -> None:
    """Objects of the download handler, and the number of a page under way: a retry copies them."""
    request = Request(URL, meta={**{key: object() for key in THIS_RUN}, "depth": 2})
    assert round_trip(request).meta == {"depth": 2}


@pytest.mark.parametrize(
    "request_",
    [
        Request(URL, meta={"item": object()}),
        Request(URL, callback=print),
        Request(URL, callback=lambda response: None),
        Request(URL, callback=CodecSpider().parse_item),
        Request(URL, cb_kwargs={"x": {"y": [range(3)]}}),
        Request(URL, meta={"x": Lock()}),
        Request(URL, meta={"x": (each for each in ())}),
        Request(URL, meta={"x": LockedBook()}),
        Request(URL, meta={"x": Locked("a")}),
        Request(URL, meta={"x": [Book(tags=object())]}),
        Request(URL, meta={"x": dataclasses.make_dataclass("Nowhere", ["a"])(1)}),
        Request(URL, meta={"x": Entry(URL)._replace(payload=object())}),
        Request(URL, meta={"x": json.JSONDecodeError}),
        Request(URL, meta={"x": enum.Enum("Other", "A").A}),
        Request(URL, meta={"x": Counter("aab")}),
        Request(URL, meta={"x": UUID(int=7)}),
        Request(URL, meta={"x": urlsplit(URL)}),
        Request(URL, meta={"x": numpy.int64(3)}),
        Request(URL, meta={"x": 10**5000}),
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
        {"_class": 1},
        *(
            {"meta": {"x": value}}
            for value in (
                {"$new": 1},
                {"$item": ["os:system", {}]},
                {"$item": ["antigravity:Thing", {}]},
                {"$item": ["subprocess:Popen", {"args": "true"}]},
                {"$item": ["scrapy.http.request:Request", {"url": URL}]},
                {"$item": [f"{__name__}:CodecSpider", {}]},
                {"$item": [f"{__name__}:RAN", {}]},
                {"$item": [f"{__name__}:Book.fields", {}]},
                {"$item": [f"{__name__}:Book", {"missing": 1}]},
                {"$item": [f"{__name__}:Author"]},
                {"$item": 7},
                {"$b": "\u1234"},
                {"$s": [{"$s": []}]},
                {"$datetime": "2026-13-01T00:00:00"},
                {"$datetime": ["2026-01-01T00:00:00"]},
                {"$item": [["x"], {}]},
                {"$decimal": "x"},
            )
        ),
    ],
)
def test_a_forged_entry_is_an_error(values: dict[str, object]) -> None:
    """It names no method of the spider, no class of requests, or an unknown attribute; nothing is imported."""
    payload = b"r" + json.dumps(values).encode()
    modules, ran = set(sys.modules), list(RAN)
    with pytest.raises(ValueError, match=r"method|class|attributes|fields|value"):
        CODEC.decode(Entry(URL, payload=payload))
    assert set(sys.modules) - modules <= {"zoneinfo._common"}
    assert ran == RAN


def test_an_alias_of_a_callback_is_found() -> None:
    """By any name under which the spider has it."""
    assert round_trip(Request(URL, errback=SPIDER.alias)).errback == SPIDER.failed


@pytest.mark.parametrize(
    "value",
    [
        datetime(2026, 1, 2, 3, 4, 5, 6),
        datetime(2026, 1, 2, tzinfo=UTC),
        datetime(2026, 1, 2, tzinfo=timezone(timedelta(hours=-3, minutes=-30))),
        date(2026, 1, 2),
        Decimal("1.10"),
        Decimal("-Infinity"),
        frozenset((1, "a")),
        {frozenset((1,)): (b"x", {"$b": 1})},
        Book(title="a", tags={"x"}),
        Book(),
        Author("a", date(1900, 1, 1)),
        Shelf([Book(title=b"a")], 3),
        [{"deep": {"x": [Author("b")]}}],
    ],
    ids=lambda value: type(value).__name__,  # the order of a set differs from process to process
)
def test_values_come_back(value: object) -> None:
    """Equal, of the same type, with what is in them."""
    request = Request(URL, meta={"x": value}, cb_kwargs={"x": value})
    back = round_trip(request)
    for found in (back.meta["x"], back.cb_kwargs["x"]):
        assert found == value
        assert type(found) is type(value)
        assert repr(found) == repr(value)


def test_a_class_is_not_called() -> None:
    """An object is made of its fields: nothing that its constructor does is done a second time."""
    author = Author("once")
    RAN.clear()
    back = round_trip(Request(URL, meta={"x": author})).meta["x"]
    assert back == author
    assert RAN == []
    with pytest.raises(dataclasses.FrozenInstanceError):
        back.name = "other"


def test_only_modules_that_had_been_imported_have_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is imported later, perhaps not in the next run, cannot be written; nor what is not the project's."""
    later = ModuleType(f"{__name__}_later")
    later.Thing = type("Thing", (Item,), {"__module__": later.__name__})
    monkeypatch.setitem(sys.modules, later.__name__, later)
    request = Request(URL, meta={"x": later.Thing()})
    with pytest.raises(NotSerializableError, match="no module of the project"):
        CODEC.encode(request)
    assert RequestCodec(SPIDER).encode(request)
    foreign = ModuleType("foreign_package")
    foreign.Thing = type("Thing", (Item,), {"__module__": foreign.__name__})
    monkeypatch.setitem(sys.modules, foreign.__name__, foreign)
    request = Request(URL, meta={"x": foreign.Thing()})
    with pytest.raises(NotSerializableError, match="no module of the project"):
        RequestCodec(SPIDER).encode(request)
    assert RequestCodec(SPIDER, ["foreign_package.settings"]).encode(request)


@pytest.mark.usefixtures("no_collection")
def test_values_may_be_nested_so_deep() -> None:
    """And no deeper, neither written nor read."""
    value: list[object] = []
    for _ in range(MAX_DEPTH - 2):
        value = [value]
    assert round_trip(Request(URL, meta={"x": value})).meta["x"] == value
    with pytest.raises(NotSerializableError, match="deep"):
        CODEC.encode(Request(URL, meta={"x": [[value]]}))
    depths = [1_200, 100_000]
    if sys.version_info < (3, 12):  # where a level takes two calls
        depths.append(900)
    for depth in depths:
        text = b'r{"meta":{"x":' + b"[" * depth + b"]" * depth + b"}}"
        with pytest.raises(ValueError, match="deep"):
            CODEC.decode(Entry(URL, payload=text))
