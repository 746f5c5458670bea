"""Stored state: every attribute is stored or derived, and a wrong value is one error that names it."""

import json
from array import array
from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from crawlproject.frontier import BestPrefix, Entry, Frontier, Measurement, Politeness, QualityFirst, Server, UrlQueue
from crawlproject.frontier.guard.copies import CopyRun, SharedPages
from crawlproject.frontier.guard.far import End
from crawlproject.frontier.guard.idle_parts import Evidence, IdleParts
from crawlproject.frontier.guard.patterns import PAGES, Pattern
from crawlproject.frontier.guard.server_guard import ServerGuard
from crawlproject.frontier.learning.backlog import Backlog
from crawlproject.frontier.learning.estimate import Estimates
from crawlproject.frontier.learning.expectation import Expectations
from crawlproject.frontier.learning.file_kinds import FileKinds
from crawlproject.frontier.learning.look_ahead import LinkYield, LookAhead
from crawlproject.frontier.learning.prior import Observed, Population, Prior
from crawlproject.frontier.learning.sitemaps import Sitemaps
from crawlproject.frontier.learning.sizes import FileSizes
from crawlproject.frontier.quality_tally import QualityTally
from crawlproject.frontier.snapshot import (
    frontier_state,
    restore_frontier,
    restore_server,
    server_state,
)
from crawlproject.frontier.state import StateReader

A, B = "http://a.example", "http://b.example"


def names_of(thing: object) -> set[str]:
    """Its attributes."""
    return {*getattr(thing, "__slots__", ())} or {*vars(thing)}


def filled(thing: Any, derived: tuple[str, ...] = (), **values: Any) -> Any:
    """``thing`` with these ``values``; each of its attributes is in them or in ``derived``."""
    assert names_of(thing) == {*values, *derived}
    for name, value in values.items():
        assert getattr(thing, name) != value, f"{name}: not another value than a new one has"
        setattr(thing, name, value)
    return thing


def attributes(thing: Any, but: tuple[str, ...] = ()) -> Any:
    """Its attributes, recursively with those of nested objects."""
    if isinstance(thing, dict):
        return [(key, attributes(value)) for key, value in thing.items()]
    if isinstance(thing, bool | int | float | str | list | tuple | set | frozenset | array | deque | None):
        return thing
    return type(thing), {name: attributes(getattr(thing, name)) for name in names_of(thing) if name not in but}


def observed() -> Observed:
    return filled(Observed(), n=3, total=-1.5)


def estimates() -> Estimates:
    return filled(
        Estimates(),
        connect_time=0.3,
        response_time=0.7,
        requests_per_connection=9,
        persistent=False,
        keep_alive_time=2.5,
        received=1000,
        sizes=2,
        connects=observed(),
        responses=observed(),
    )


def link_yield() -> LinkYield:
    return filled(LinkYield(), new=1.5, pages=2.5, visits=3)


def copy_run() -> CopyRun:
    return filled(CopyRun(), _times={2**64 - 1: 1, 7: 0})


def shared_pages() -> SharedPages:
    return filled(SharedPages(), is_mirror=True, _pages={B: 3})


def file_kinds() -> FileKinds:
    return filled(FileKinds(), _answers={"png images": 2, "jpg w": -1})


def idle_parts() -> IdleParts:
    return filled(
        IdleParts(),
        ("are_linked",),
        _counts={"?hl": Evidence(96, 8, 5, [6, 7]), "/raw": Evidence(24)},
        _idle={"?hl"},
        _pages=array("I", [7, 2**32 - 1]),
    )


def pattern() -> Pattern:
    counts = {"own": 1, "votes": 2, "listed": 3, "news": 4, "same": 5, "dry": 6, "pages": 7, "copies": 8}
    marks = {"first": array("I", [2, 2**32 - 1]), "others": deque([array("I", [3])], PAGES)}
    asked = {"grown": 2, "end": End.ENDLESS, "asked": 1, "asked_again": True, "noise": frozenset((4, 9))}
    return filled(Pattern("/p/#"), ("example", "clear", "passed", "has_head"), name="/q?", **counts, **marks, **asked)


def guard() -> ServerGuard:
    values = {"closed": {"/q?edit": 3}, "refused": 1, "spent": ["/r"], "idle_parts": idle_parts(), "waiting": 4}
    counts = {"vain": 2, "vain_in_a_row": 3, "versions": 6, "products": {"/s?": ["/s?a&b"]}}
    return filled(ServerGuard(), patterns={"/q?": pattern()}, **values, **counts)


#: Class -> how one is filled, and how it comes back.
BY_SERVER: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "Observed": (observed, lambda state: Observed.from_state(StateReader("x", state))),
    "Estimates": (estimates, lambda state: Estimates.from_state(StateReader("x", state))),
    "LinkYield": (link_yield, lambda state: LinkYield.from_state(StateReader("x", state))),
    "CopyRun": (copy_run, lambda state: CopyRun.from_state(StateReader("x", state))),
    "SharedPages": (shared_pages, lambda state: SharedPages.from_state(StateReader("x", state))),
    "FileKinds": (file_kinds, lambda state: FileKinds.from_state(StateReader("x", state))),
    "IdleParts": (idle_parts, lambda state: IdleParts.from_state(StateReader("x", state))),
    "Pattern": (pattern, Pattern.from_state),
    "ServerGuard": (guard, lambda state: ServerGuard.from_state(StateReader("x", state))),
}


@pytest.mark.parametrize("name", BY_SERVER)
def test_what_is_learned_of_a_server_comes_back(name: str) -> None:
    """Every attribute, through JSON; a new attribute fails here until it is stored."""
    fill, read = BY_SERVER[name]
    thing = fill()
    assert attributes(read(json.loads(json.dumps(thing.to_state())))) == attributes(thing)


POPULATION = {"observations": 5, "_servers": 2, "_recent_mean": 0.1, "_means": 0.2, "_squares": 0.3}
POPULATION |= {"_inverse_counts": 0.4, "_within": 0.5}
DERIVED_OF_POPULATION = ("_first_mean", "_moments", "_moments_until")
NOT_OF_SITEMAPS = ("_look_ahead", "_waiting", "_handed_out", "_outdated")


def population() -> Population:
    return filled(Population(1.0), DERIVED_OF_POPULATION, **POPULATION)


def prior() -> Prior:
    return filled(Prior(0.1, 0.5), connect=population(), response=population(), unmet=(0.2, 0.3), _next=9.5)


#: Class -> (how one is filled, a new one, attributes that are not stored): of what there is one of for all servers.
OVERALL: dict[str, tuple[Callable[[], Any], Callable[[], Any], tuple[str, ...]]] = {
    "Population": (population, lambda: Population(1.0), DERIVED_OF_POPULATION),
    "LookAhead": (
        lambda: filled(LookAhead(), ("_of_unmet",), _buckets=[[1.0, 2.0]], _gain=3.0, _weight=4.0, _last=5.0, _pages=6),
        LookAhead,
        ("_of_unmet",),
    ),
    "Sitemaps": (
        lambda: filled(Sitemaps(None), NOT_OF_SITEMAPS, _gain=1.5, _weight=2.5),
        lambda: Sitemaps(None),
        NOT_OF_SITEMAPS,
    ),
    "QualityTally": (
        lambda: filled(QualityTally(), gathered=1.5, pages=2, _sum=3.5, _urls=4),
        QualityTally,
        (),
    ),
    "Backlog": (lambda: filled(Backlog(), ("_last",), _gaps=1.5, _weight=2.5, _waiting=3), Backlog, ()),
    "FileSizes": (
        lambda: filled(FileSizes(), _answers={"*": 3, "pdf": 2}, _bytes={"*": 900, "pdf": 800}),
        FileSizes,
        (),
    ),
    "Expectations": (
        lambda: filled(
            Expectations(learns_prior=False, looks_ahead=False),
            ("backlog", "sitemaps", "sizes", "prior", "look_ahead"),
            _unused={"prior": prior().to_state(), "look_ahead": {"gain_sum": 1.5}},
        ),
        lambda: Expectations(learns_prior=False, looks_ahead=False),
        (),
    ),
}


@pytest.mark.parametrize("name", OVERALL)
def test_what_is_learned_over_all_servers_comes_back(name: str) -> None:
    """Every attribute, through JSON; a new attribute fails here until it is stored or listed as derived."""
    fill, new, derived = OVERALL[name]
    thing, again = fill(), new()
    again.restore(StateReader("x", json.loads(json.dumps(thing.to_state()))))
    assert attributes(again, but=derived) == attributes(thing, but=derived)


def test_the_prior_comes_back() -> None:
    """Both populations, without derived attributes."""
    again = Prior(0.1, 0.5)
    again.restore(StateReader("x", json.loads(json.dumps(prior().to_state()))))
    assert attributes(again, but=("connect", "response")) == attributes(prior(), but=("connect", "response"))
    for one in (again.connect, again.response):
        assert attributes(one, but=DERIVED_OF_POPULATION) == attributes(population(), but=DERIVED_OF_POPULATION)


#: Attributes of ``Server`` -> values that a new one does not have.
STORED: dict[str, Any] = {
    "answered": True,
    "copies": 1,
    "copy_run": copy_run(),
    "crawl_delay": 2.5,
    "demotion": 0.5,
    "estimates": estimates(),
    "failures": 3,
    "fetched": 4,
    "file_kinds": file_kinds(),
    "found": link_yield(),
    "gathered": 1.5,
    "given_up": True,
    "demoted_because": "copies",
    "guard": guard(),
    "last_error": "refused",
    "misfits": 2,
    "pages": 5,
    "ready_at": 6.5,
    "robots_failures": 2,
    "shared": shared_pages(),
    "address": "192.0.2.7",
    "alias_of": "http://a.example",
}

#: Attributes of ``Server`` that are not stored: made from those that are, or of this run's sessions.
DERIVED = {
    *(
        "away_wait",
        "blocked",
        "bonus",
        "limit",
        "page_time",
        "prices",
        "request_wait",
        "rerank_above",
        "urgency",
        "worth",
    ),
    *("awaited", "crowd", "domain", "line"),
    *("failed_at", "full", "group", "heap_item", "last_end", "left", "parked", "session", "state"),
}


def new_frontier() -> Frontier:
    return Frontier(BestPrefix(), Politeness())


def new_queue() -> UrlQueue:
    return UrlQueue(by_quality=True, window=1)


def test_every_attribute_of_a_server_is_stored_or_derived() -> None:
    """A new attribute must be one of the two; its URLs and its key are stored separately."""
    assert STORED.keys() | DERIVED == {*Server.__slots__} - {"key", "urls"}
    assert not DERIVED & STORED.keys()


@pytest.mark.parametrize("name", STORED)
def test_an_attribute_of_a_server_comes_back(name: str) -> None:
    """Alone; the others are as in a new server."""
    server = Server(A, new_queue(), limit=1)
    assert attributes(getattr(server, name)) != attributes(STORED[name])
    setattr(server, name, STORED[name])
    again = restore_server(new_frontier(), A, new_queue(), json.loads(json.dumps(server_state(server))))
    for each in STORED:
        assert attributes(getattr(again, each)) == attributes(getattr(server, each)), each


def test_a_new_server_is_a_short_record() -> None:
    """Millions of servers have no request yet: default values are not written."""
    state = server_state(Server(A, new_queue(), limit=1))
    assert state.keys() == {"ready_at", "demotion", "estimates"}


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


#: Key of a server's record -> a value that it cannot have.
WRONG: list[tuple[str, Any]] = [
    ("ready_at", "soon"),
    ("ready_at", float("nan")),
    ("crawl_delay", -1),
    ("crawl_delay", 10**400),
    ("failures", 1.5),
    ("failures", True),
    ("gathered", -1.5),
    ("pages", -1),
    ("given_up", 1),
    ("last_error", 5),
    ("demoted_because", ["copies"]),
    ("estimates", []),
    ("estimates.connect_time", -0.1),
    ("estimates.response_time", float("inf")),
    ("estimates.persistent", "yes"),
    ("estimates.connects", 3),
    ("estimates.connects.count", -3),
    ("new_links.visits", None),
    ("copy_run.times", [[1, 2, 3]]),
    ("copy_run.times", {"1": 2}),
    ("shared_pages.pages", [[B, 3]]),
    ("shared_pages.pages", {B: "3"}),
    ("file_kinds.answers", {"png": -2}),
    ("guard.patterns", ["/p/#"]),
    ("guard.patterns", [["/p/#", "", 0, False, 0, 1, 2, 3, 4, 5, 6, 8, 9, [], ["not base64!"]]]),
    ("guard.patterns", [["/p/#", "", 0, False, 0, 1, 2, 3, 4, 5, 6, 8, 9, [], ["QUI="]]]),
    ("guard.patterns", [["/p/#", "", 0, False, 0, 1, 2, 3, 4, 5, 6, 8, -9, [], []]]),
    ("guard.patterns", [["/p/#", "maybe", 0, False, 0, 1, 2, 3, 4, 5, 6, 8, 9, [], []]]),
    ("guard.patterns", [["/p/#", "", 0, False, 0, 1, 2, 3, 4, 5, 6, 8, [], []]]),
    ("guard.patterns", [7]),
    ("guard.dropped", "/p/#"),
    ("guard.closed", [["/q?edit", -1]]),
    ("guard.idle_parts", {"parts": [["/raw", 1]]}),
    ("guard.idle_parts", {"parts": [["/raw", 1, -1, 0]]}),
    ("guard.products", [[7]]),
]


@pytest.mark.parametrize(("key", "value"), WRONG)
def test_a_wrong_value_is_an_error_that_names_it(key: str, value: object) -> None:
    """ValueError of one line, however long the value is."""
    server = Server(A, new_queue(), limit=1)
    for name, stored in STORED.items():
        setattr(server, name, stored)
    state = json.loads(json.dumps(server_state(server)))
    *parts, last = key.split(".")
    inner = state
    for part in parts:
        inner = inner[part]
    inner[last] = value
    wanted = "not a pattern" if "patterns" in key else last
    with pytest.raises(ValueError, match=wanted) as error:
        restore_server(new_frontier(), A, new_queue(), state)
    message = str(error.value)
    assert "\n" not in message
    assert len(message) < 200


@pytest.mark.parametrize(
    "state",
    [
        {"arrivals": "x"},
        {"quality": {"pages": -1}},
        {"learned": {"backlog": {"waiting": -1}}},
        {"learned": {"prior": {"unmet": [1.0]}}},
        {"learned": {"look_ahead": {"buckets": [[1.0, "2"]]}}},
        {"arrivals": 1, "returns": 1, "learned": []},
    ],
)
def test_wrong_values_of_what_was_learned_over_all(state: dict[str, Any]) -> None:
    """ValueError of one line."""
    with pytest.raises(ValueError, match="must be") as error:
        restore_frontier(new_frontier(), state)
    assert "\n" not in str(error.value)
