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

=========  =======  =======  =======  =======  =========  =======  =======  =======
from       empty    rest     due      lease    set aside  recall   release  hold
=========  =======  =======  =======  =======  =========  =======  =======  =======
idle       idle     resting  ready                                          held
ready      idle     resting           leased   waiting                      held
resting    idle     resting  ready                                          held
waiting    idle     resting  waiting                      ready             held
leased                                                             idle
held                                                                        held
=========  =======  =======  =======  =======  =========  =======  =======  =======

A ready server that gets more URLs stays ready; only its rank changes.  A released server is idle only until
``ServerQueue.place`` moves it by its URLs and its polite wait; one that was to be held while it was leased is held
then.  A held server keeps its URLs and takes new ones, until ``Frontier.remove`` forgets it.

"Given up", "full" and "blocked" are not states: such a server has no URL, or counts as if it had none, so it is idle
when its session ends.  They are shown in place of its state (``monitor.server_state``).

A session (one connection); ``Dispatcher`` takes the steps while it is open, ``Frontier`` parks, resumes and closes it:

=========  =============================================================
state      meaning
=========  =============================================================
free       no request in flight: the dispatcher will serve it
busy       a request is in flight, or several
held       polite wait between two requests
lingering  its server has no URL: waits for the links of its last page
parked     its connection is open and idle, its server is not leased
closed     its connection is closed, or will be closed at once
=========  =============================================================

=========  ======  ======  =======  =========  ======  ======  ======  =======  =======
from       ask     end     hold     linger     wake    park    resume  close    expire
=========  ======  ======  =======  =========  ======  ======  ======  =======  =======
free       busy            held     lingering          parked          closed
busy               free                                                closed
held                                           free                    closed
lingering                                      free                    closed
parked                                                         free             closed
closed             closed
=========  ======  ======  =======  =========  ======  ======  ======  =======  =======

A request may end after its session was closed: at the end of a crawl, or after ``Dispatcher.abandon``.
``Session.ending`` is not a state: it applies while a request is in flight, and to parked sessions, too.
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
    PARKED = "parked"
    CLOSED = "closed"


class SessionEvent(StrEnum):
    """An event that changes the state of a session."""

    ASK = "ask"
    END = "end"  # its request is over
    HOLD = "hold"
    LINGER = "linger"
    WAKE = "wake"  # its wait is over: URLs arrived, or the time is up
    PARK = "park"
    RESUME = "resume"
    CLOSE = "close"
    EXPIRE = "expire"  # the parking time of its connection is over, or the connection is lost


ServerSteps = dict[tuple[ServerState, ServerEvent], ServerState]
SessionSteps = dict[tuple[SessionState, SessionEvent], SessionState]


def _server_steps() -> ServerSteps:
    idle, ready, resting, waiting, leased, held = ServerState
    event = ServerEvent
    steps: ServerSteps = {}
    for state in (idle, ready, resting, waiting):
        steps |= {(state, event.EMPTY): idle, (state, event.REST): resting, (state, event.HOLD): held}
    return steps | {
        (idle, event.DUE): ready,
        (resting, event.DUE): ready,
        (waiting, event.DUE): waiting,
        (ready, event.LEASE): leased,
        (ready, event.SET_ASIDE): waiting,
        (waiting, event.RECALL): ready,
        (leased, event.RELEASE): idle,
        (held, event.HOLD): held,
    }


def _session_steps() -> SessionSteps:
    free, busy, held, lingering, parked, closed = SessionState
    event = SessionEvent
    steps: SessionSteps = {(state, event.CLOSE): closed for state in (free, busy, held, lingering)}
    return steps | {
        (free, event.ASK): busy,
        (busy, event.END): free,
        (closed, event.END): closed,
        (free, event.HOLD): held,
        (free, event.LINGER): lingering,
        (held, event.WAKE): free,
        (lingering, event.WAKE): free,
        (free, event.PARK): parked,
        (parked, event.RESUME): free,
        (parked, event.EXPIRE): closed,
    }


SERVER_STEPS = _server_steps()
SESSION_STEPS = _session_steps()
