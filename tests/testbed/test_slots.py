"""What the places of connections are used for: recorded in a real crawl, compared with the servers' log."""

import json
from pathlib import Path

import pytest

from crawlproject.simulation.spans import CLOSING, FIRST, LINGERING, LOOK_UP, NO_SESSION, PREPARING, ROBOTS, TRANSFER
from testbed.crawl import Conditions, crawl
from testbed.slots import Slots
from testbed.web import WebSpec

SESSIONS = 4


def test_every_second_of_a_real_crawl_is_accounted_for(tmp_path: Path) -> None:
    """Shares add up to 1 ± .02; what the servers saw of the connections is the same, and so is what they worked."""
    log = tmp_path / "slots.jsonl"
    settings = {"EXTENSIONS": json.dumps({"testbed.slots.SlotLog": 0}), "SLOT_LOG": log}
    spec = WebSpec(servers=8, pages=60, response_max=0.5, time_scale=0.5, redirect_share=0.1)
    run = crawl("prefix", spec, Conditions(SESSIONS, settings=settings))
    slots = Slots(log, min(record.arrival for record in run.records))
    shares = slots.spans.shares(SESSIONS, 0.0, run.seconds)
    assert sum(shares.values()) == pytest.approx(1.0, abs=0.02)
    assert min(shares[phase] for phase in (ROBOTS, FIRST, NO_SESSION)) > 0.01
    answers = [record for record in run.records if record.kind == "request" and record.status]
    robots = sum(record.end - record.arrival for record in answers if "robots" in record.note)
    served = sum(record.end - record.arrival for record in answers)
    seen = sum(end - start for phase, start, end in slots.spans.phases if phase not in (PREPARING, LINGERING, CLOSING))
    assert sum(end - start for phase, start, end in slots.spans.phases if phase == ROBOTS) >= robots - 0.01
    assert seen >= served - 0.01  # the client sees all that the servers do
    assert max(count for _, count in slots.ready) > 0


def test_phases_of_a_session_by_hand(tmp_path: Path) -> None:
    """Opened at 0, waits .1 s for a place; look-up .1, connect .2; answer until 1, transfer .5; lingers, closes."""
    key, events = "http://a.example", tmp_path / "slots.jsonl"
    rows = [
        ["step", 0.0, 0, key, "ask"],
        ["place", key, 0.0, 0.1],
        ["request", key, "/", 0.1, 0.1, 0.2, 0.0, False, 0.4, 1.0, 1.5],
        ["step", 1.5, 0, key, "end"],
        ["step", 1.5, 0, key, "linger"],
        ["ready", 1.5, 7],
        ["step", 1.6, 0, key, "wake"],
        ["step", 1.6, 0, key, "close"],
        ["close", "http://b.example", 0.0, 0.1],
        ["close", key, 1.6, 1.8],
    ]
    events.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    slots = Slots(events, 0.0)
    shares = slots.spans.shares(1, 0.0, 2.0)
    assert {name: round(2 * share, 6) for name, share in shares.items() if share > 1e-9} == {
        LOOK_UP: 0.1,
        "connect": 0.2,
        FIRST: 0.6,
        TRANSFER: 0.5,
        LINGERING: 0.1,
        CLOSING: 0.3,
        NO_SESSION: 0.2,
    }
    assert slots.ready == [(1.5, 7)]
    assert slots.until_scarce(7) == slots.from_plenty(7) == 1.5
    assert slots.until_scarce(8) == 0.0
