"""The two-level frontier: all URLs that are discovered but not fetched, in fetch order.

Pure: no sockets, no clock, no randomness, no Scrapy.  The caller passes time as ``now`` (seconds, on any monotonic
clock) and requests as ``Entry``; the frontier never reads an entry's payload.

Life of a URL::

    discovered --push--> queued --next_url--> in flight --> fetched | failed (up to the caller)
                            ^                     |
                            +------give_back------+        queued --server given up--> dropped, counted

``frontier.states`` has the states of servers (scheme + host + port) and sessions, and the steps between them.

Invariants: a server has at most one session; a politeness group has at most one; no session opens and no URL is
handed out before the server's time; a ready server's heap key is its rank.  A rank changes only by events (URLs
pushed, request recorded, session closed), so the heap stays correct without scans.  An illegal step of a server or a
session raises ``IllegalStepError``.

``Frontier`` maintains the invariants, its ``servers`` learn how each server behaves, ``Dispatcher`` runs sessions on it
within a limit.  Sessions are not preempted: a better server waits until a connection closes.

Extension points: ``Policy`` (how servers rank), ``Quality`` (what pages are worth, ``frontier.quality``) and
``FrontierStore`` (where URLs and servers persist).
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
from crawlproject.frontier.queues.stored_queue import QueueRows, StoredUrlQueue
from crawlproject.frontier.queues.url_queue import UrlQueue
from crawlproject.frontier.server import Server, Session
from crawlproject.frontier.states import IllegalStepError, ServerState, SessionState

__all__ = [
    "POLICIES",
    "BestPrefix",
    "BreadthFirst",
    "CapacityBased",
    "Dispatcher",
    "Entry",
    "Frontier",
    "IllegalStepError",
    "Measurement",
    "PerformanceFirst",
    "Policy",
    "Politeness",
    "QualityFirst",
    "QueueRows",
    "Server",
    "ServerState",
    "Session",
    "SessionState",
    "Start",
    "StoredUrlQueue",
    "UrlQueue",
    "retry_after_seconds",
]
