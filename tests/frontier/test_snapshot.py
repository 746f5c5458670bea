"""Stored state: every attribute is stored or derived, and a wrong value is one error that names it."""

import json
from array import array
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from crawlproject.frontier import BestPrefix, Entry, Frontier, Measurement, Politeness, QualityFirst, Server, UrlQueue
from crawlproject.frontier.guard.far import End
from crawlproject.frontier.guard.idle_parts import Evidence, IdleParts
from crawlproject.frontier.guard.patterns import PAGES, Pattern
from crawlproject.frontier.guard.server_guard import ServerGuard
from crawlproject.frontier.learning.estimate import Estimates, Observed, Population, Prior
from crawlproject.frontier.learning.file_kinds import FileKinds, FileSizes
from crawlproject.frontier.learning.look_ahead import LinkYield, LookAhead, Sitemaps
from crawlproject.frontier.quality import QualityTally
from crawlproject.frontier.snapshot import frontier_state, restore_frontier, restore_server, server_state
from crawlproject.frontier.state import Stored

A, B = "http://a.example", "http://b.example"


def new_queue() -> UrlQueue:
    return UrlQueue(by_quality=True, window=1)


def new_server() -> Server:
    return Server(A, new_queue(), limit=1)


#: Class -> a new one, its attributes that are not stored as they are, values of those that are not numbers or texts.
CASES: dict[str, tuple[Callable[[], Stored], set[str], dict[str, Any]]] = {
    "Observed": (Observed, set(), {}),
    "Estimates": (Estimates, set(), {}),
    "LinkYield": (LinkYield, set(), {}),
    "FileKinds": (FileKinds, set(), {"_answers": {"png images": 2, "jpg w": -1}}),
    "IdleParts": (
        IdleParts,
        {"are_linked", "_idle"},
        {
            "_counts": {"?hl": Evidence(96, 8, 5, [6, 7]), "/raw": Evidence(24)},
            "_idle": {"?hl"},
            "_pages": array("I", [7, 2**32 - 1]),
        },
    ),
    "Pattern": (
        Pattern,
        {"example", "clear", "passed", "has_head"},
        {
            "end": End.ENDLESS,
            "noise": frozenset((4, 9)),
            "first": array("I", [2, 2**32 - 1]),
            "others": deque([array("I", [3])], PAGES),
        },
    ),
    "ServerGuard": (
        ServerGuard,
        set(),
        {
            "closed": {"/q?edit": 3},
            "spent": ["/r"],
            "products": {"/s?": ["/s?a&b"]},
            "patterns": {"/q?": Pattern("/q?", end=End.FINITE)},
        },
    ),
    "Population": (lambda: Population(1.0), {"_first_mean", "_moments", "_moments_until"}, {}),
    "Prior": (lambda: Prior(0.1, 0.5), set(), {"unmet": (0.2, 0.3)}),
    "LookAhead": (LookAhead, {"_of_unmet"}, {"_buckets": [[1.0, 2.0]]}),
    "Sitemaps": (lambda: Sitemaps(None), {"_look_ahead", "_waiting", "outdated"}, {}),
    "QualityTally": (QualityTally, set(), {}),
    "FileSizes": (FileSizes, set(), {"_answers": {"*": 3, "pdf": 2}, "_bytes": {"*": 900, "pdf": 800}}),
    "Server": (
        new_server,
        {
            *("blocked", "bonus", "limit", "page_time", "prices", "request_wait", "rerank_above", "worth"),
            *("awaited", "crowd", "domain", "line", "key", "urls"),
            *("failed_at", "full", "group", "heap_item", "last_end", "left", "session", "state"),
        },
        {},
    ),
}


def filled(name: str) -> Any:
    """One of this class with other values than a new one has."""
    new, derived, values = CASES[name]
    thing = new()
    names = {*getattr(thing, "__slots__", ())} or {*vars(thing)}
    assert names == derived.union(thing.STATE, thing.PARTS, values), "stored or derived"
    for each in thing.STATE:
        now = getattr(thing, each)
        other = not now if isinstance(now, bool) else "other" if isinstance(now, str | None) else now
        values = {each: type(now)(now + 3) if type(now) in (int, float) else other} | values
    for each, value in values.items():
        assert getattr(thing, each) != value
        setattr(thing, each, value)
    for each, kind in thing.PARTS.items():
        setattr(thing, each, filled(kind.__name__))
    return thing


def attributes(thing: Any) -> Any:
    """What is stored of it, and of nested objects."""
    if isinstance(thing, dict):
        return {key: attributes(value) for key, value in thing.items()}
    if not isinstance(thing, Stored):
        return thing
    _, derived, values = CASES[type(thing).__name__]
    names = {*thing.STATE, *thing.PARTS, *values} | (derived & {"_idle"})
    return {name: attributes(getattr(thing, name)) for name in names}


@pytest.mark.parametrize("name", CASES)
def test_what_is_learned_comes_back(name: str) -> None:
    """Every attribute, through JSON; a new attribute fails here until it is stored or listed as derived."""
    thing, again = filled(name), CASES[name][0]()
    again.restore(json.loads(json.dumps(thing.to_state())))
    assert attributes(again) == attributes(thing)


def new_frontier() -> Frontier:
    return Frontier(BestPrefix(), Politeness())


def test_a_server_comes_back() -> None:
    """Into another frontier; of a new one only a short record is stored, as millions have no request yet."""
    state = json.loads(json.dumps(server_state(filled("Server"))))
    again = restore_server(new_frontier(), A, new_queue(), state)
    assert attributes(again) == attributes(filled("Server"))
    assert server_state(new_server()).keys() == {"ready_at", "estimates"}


def test_what_a_policy_does_not_ask_for_is_kept() -> None:
    """A run with another policy in between keeps the times of all servers and the gain of links."""
    frontier = new_frontier()
    frontier.push([Entry(f"{A}/", 1.0)], B)
    for _ in range(5):
        frontier.record(Measurement(A, 0.0, 200, connect_time=2.0, response_time=3.0))
    learned = frontier_state(frontier)
    between = Frontier(QualityFirst(), Politeness())
    restore_frontier(between, json.loads(json.dumps(learned)))
    again = new_frontier()
    restore_frontier(again, json.loads(json.dumps(frontier_state(between))))
    assert frontier_state(again) == learned


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("ready_at", "soon"),
        ("ready_at", float("nan")),
        ("crawl_delay", 10**400),
        ("failures", 1.5),
        ("failures", True),
        ("pages", -1),
        ("given_up", 1),
        ("last_error", 5),
        ("alias_of", ["http://a.example"] * 100),
        ("estimates", []),
        ("estimates.connect_time", float("inf")),
        ("estimates.connects", 3),
        ("estimates.connects.n", -3),
        ("file_kinds.answers", [1]),
        ("guard.patterns", [7]),
        ("guard.patterns", [{"end": "maybe"}]),
        ("guard.patterns", [{"noise": [], "marks": ["not base64!"]}]),
        ("guard.idle_parts", {"parts": 1}),
    ],
)
def test_a_wrong_value_is_an_error(key: str, value: object) -> None:
    """One of those that the store reports as damage, of one line, however long the value is."""
    state = json.loads(json.dumps(server_state(filled("Server"))))
    *parts, last = key.split(".")
    inner = state
    for part in parts:
        inner = inner[part]
    inner[last] = value
    with pytest.raises((ValueError, TypeError, KeyError)) as error:
        restore_server(new_frontier(), A, new_queue(), state)
    assert "\n" not in str(error.value)
    assert len(str(error.value)) < 200
