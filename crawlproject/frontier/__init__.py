"""The two-level frontier: every URL discovered and not yet fetched, in the order in which to fetch.

Pure: no sockets, no clock, no randomness, no Scrapy.  Time comes in as ``now`` (seconds, any clock that never
goes back), requests come in and go out as ``Entry``, whose payload nothing here looks at.

Life of a URL::

    discovered --push--> queued --next_url--> in flight --> fetched | failed (the caller's)
                            ^                     |
                            +------give_back------+        queued --server given up--> dropped, counted

States of a server (scheme + host + port), see ``frontier.states`` for the steps between them, and for sessions::

    idle     no URL queued
    ready    URLs queued, may be asked now            in the heap by rank
    resting  URLs queued, may not be asked before t   in the heap by t
    waiting  as ready, but its politeness group is busy or rests: in the group's heap by rank
    leased   has a session

Invariants: a server has at most one session; a politeness group has at most one; no session is opened and no
URL handed out before its server's time; a ready server's place in the heap is its rank.  A rank changes only by
events (URLs pushed, request recorded, session closed), so the heap stays right without scanning.  An illegal step of
a server or a session raises ``IllegalStepError``.

``Frontier`` keeps these, its ``servers`` learn what each server does, ``Dispatcher`` runs sessions on it within a
limit.  Sessions are not preempted: a better server waits until a connection closes.

What you may bring along: a ``Policy`` (how servers rank), a ``Quality`` (what pages are worth, ``frontier.quality``), a
``FrontierStore`` (where URLs and servers outlive the process).
"""

from crawlproject.frontier.dispatch import Dispatcher, Start
from crawlproject.frontier.entry import Entry
from crawlproject.frontier.frontier import Frontier
from crawlproject.frontier.measurement import Measurement
from crawlproject.frontier.policy import (
    POLICIES,
    BestPrefix,
    BreadthFirst,
    CapacityBased,
    PerformanceFirst,
    Policy,
    QualityFirst,
)
from crawlproject.frontier.politeness import Politeness, retry_after_seconds
from crawlproject.frontier.queues.protocols import ServerUrls, UrlRows
from crawlproject.frontier.queues.stored_queue import QueueRows, StoredUrlQueue
from crawlproject.frontier.queues.url_queue import UrlQueue
from crawlproject.frontier.server import Group, Server, Session
from crawlproject.frontier.server_table import FrontierStore
from crawlproject.frontier.states import IllegalStepError, ServerState, SessionState

__all__ = [
    "POLICIES",
    "BestPrefix",
    "BreadthFirst",
    "CapacityBased",
    "Dispatcher",
    "Entry",
    "Frontier",
    "FrontierStore",
    "Group",
    "IllegalStepError",
    "Measurement",
    "PerformanceFirst",
    "Policy",
    "Politeness",
    "QualityFirst",
    "QueueRows",
    "Server",
    "ServerState",
    "ServerUrls",
    "Session",
    "SessionState",
    "Start",
    "StoredUrlQueue",
    "UrlQueue",
    "UrlRows",
    "retry_after_seconds",
]
