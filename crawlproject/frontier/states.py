"""The states of servers and sessions, and the legal steps between them; any other step raises.

A server (scheme + host + port); ``ServerQueue`` takes its steps and keeps it in the heap of its state:

========  ===============================================  =======================
state     meaning                                          kept in
========  ===============================================  =======================
idle      no URL queued                                    no heap
ready     URLs queued, may be requested now                a heap by rank
resting   URLs queued, may not be requested before a time  a heap by that time
waiting   as ready, but its politeness group is busy       its group's heap by rank
leased    has a session                                    no heap
held      gets no session: it is about to be removed       no heap
========  ===============================================  =======================

A ready server that gets more URLs stays ready; only its rank changes.  A released server is idle only until
``ServerQueue.place`` moves it by its URLs and its polite wait; one that was to be held while it was leased is held
then.  A held server keeps its URLs and takes new ones, until ``Frontier.remove`` forgets it.

"Given up", "full" and "blocked" are not states: such a server has no URL, or counts as if it had none, so it is idle
when its session ends.  They are shown in place of its state (``monitor.server_state``).

A session (one connection); ``Dispatcher`` takes the steps while it is open, ``Frontier`` closes it:

=========  =============================================================
state      meaning
=========  =============================================================
free       no request in flight: the dispatcher will serve it
busy       a request is in flight, or several
held       polite wait between two requests
lingering  its server has no URL: waits for the links of its last page
closed     its connection is closed, or will be closed at once
=========  =============================================================

A request may end after its session was closed: at the end of a crawl, or after ``Dispatcher.abandon``.
``Session.ending`` is not a state: it applies while a request is in flight.
"""

from __future__ import annotations

from enum import StrEnum


class IllegalStepError(ValueError):
    """A step that is not in the tables."""


class ServerState(StrEnum):
    """The state of a server."""

    IDLE = "idle"
    READY = "ready"
    RESTING = "resting"
    WAITING = "waiting"
    LEASED = "leased"
    HELD = "held"


class ServerEvent(StrEnum):
    """An event that changes the state of a server."""

    EMPTY = "empty"  # no URL is queued
    REST = "rest"  # URLs are queued, its polite wait has not ended
    DUE = "due"  # URLs are queued, its polite wait has ended
    LEASE = "lease"
    SET_ASIDE = "set aside"  # its politeness group is busy or rests
    RECALL = "recall"  # its politeness group is free again
    RELEASE = "release"
    HOLD = "hold"  # it may get no further session


class SessionState(StrEnum):
    """The state of a session."""

    FREE = "free"
    BUSY = "busy"
    HELD = "held"
    LINGERING = "lingering"
    CLOSED = "closed"


class SessionEvent(StrEnum):
    """An event that changes the state of a session."""

    ASK = "ask"
    END = "end"  # its request is over
    HOLD = "hold"
    LINGER = "linger"
    WAKE = "wake"  # its wait is over: URLs arrived, or the time is up
    CLOSE = "close"


def _server_steps() -> dict[tuple[ServerState, ServerEvent], ServerState]:
    idle, ready, resting, waiting, leased, held = ServerState
    empty, rest, due, lease, set_aside, recall, release, hold = ServerEvent
    table = {
        idle: {empty: idle, rest: resting, due: ready, hold: held},
        ready: {empty: idle, rest: resting, lease: leased, set_aside: waiting, hold: held},
        resting: {empty: idle, rest: resting, due: ready, hold: held},
        waiting: {empty: idle, rest: resting, due: waiting, recall: ready, hold: held},
        leased: {release: idle},
        held: {hold: held},
    }
    return {(state, event): after for state, steps in table.items() for event, after in steps.items()}


def _session_steps() -> dict[tuple[SessionState, SessionEvent], SessionState]:
    free, busy, held, lingering, closed = SessionState
    ask, end, hold, linger, wake, close = SessionEvent
    table = {
        free: {ask: busy, hold: held, linger: lingering, close: closed},
        busy: {end: free, close: closed},
        held: {wake: free, close: closed},
        lingering: {wake: free, close: closed},
        closed: {end: closed},
    }
    return {(state, event): after for state, steps in table.items() for event, after in steps.items()}


SERVER_STEPS = _server_steps()
SESSION_STEPS = _session_steps()
