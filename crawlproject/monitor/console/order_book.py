"""The operator's orders and the file that keeps them over a restart.

An order has a name and a value, both texts: ``paused`` (any value), ``sessions`` (a number), ``limit NAME`` (a number),
``delay NAME`` (seconds), ``block NAME``, ``release NAME``, and ``exclude``, ``include``, ``raise``, ``lower PATTERN``
(any value), and ``stopped``, which ends the crawl; without a value it is undone.
"""

from __future__ import annotations

import json
import logging
import time
from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from crawlproject.frontier.live_limits import EXCLUDE, INCLUDE, KINDS, LIMITS, LOWER, MAX_LIMIT, MAX_PATTERNS, RAISE
from crawlproject.frontier.orders import MAX_NAMES
from crawlproject.storage.replacing import replace_file
from crawlproject.urls.server_key import server_name
from crawlproject.urls.wildcards import UrlPatterns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sized
    from pathlib import Path
    from typing import Self

T = TypeVar("T", bound="Sized")

logger = logging.getLogger(__name__)

VERSION = 1

#: Kinds of orders.
PAUSED, STOPPED, SESSIONS, LIMIT = "paused", "stopped", "sessions", "limit"
DELAY, BLOCK, RELEASE = "delay", "block", "release"

#: Actions that are shown, the last ones.
MAX_ACTIONS = 20

#: The file in the directory of the frontier.
FILE_NAME = "orders.json"

#: Maximum size of the file, bytes.
MAX_BYTES = 16_000_000

#: Longest delay between two requests, seconds.
MAX_DELAY = 7 * 86_400.0

#: Most sessions that can be ordered.
MAX_SESSIONS = 10_000


class ActionError(ValueError):
    """An action that is impossible now."""


class UnavailableError(ValueError):
    """Redis, which holds the orders of all workers, does not answer."""


@dataclass
class Orders:
    """The orders in force; names as in ``frontier.orders``."""

    paused: bool = False
    #: The limit on sessions, and FRONTIER_MAX_SESSIONS at that time; None: the setting counts.
    sessions: tuple[int, int] | None = None
    #: Name -> minimum seconds between two requests to a server.
    delays: dict[str, float] = field(default_factory=dict)
    blocked: list[str] = field(default_factory=list)
    #: Servers that the guard does not judge.
    released: list[str] = field(default_factory=list)
    #: Limit -> what replaces its setting (``frontier.live_limits``).
    limits: dict[str, int] = field(default_factory=dict)
    #: Kind -> patterns of URLs.
    patterns: dict[str, list[str]] = field(default_factory=lambda: {kind: [] for kind in KINDS})

    def given(self) -> dict[str, str]:
        """Names and values, of which ``of`` makes these orders."""
        found = {PAUSED: "1"} if self.paused else {}
        if self.sessions is not None:
            found[SESSIONS] = str(self.sessions[0])
        found |= {f"{LIMIT} {name}": str(limit) for name, limit in self.limits.items()}
        found |= {f"{kind} {each}": "1" for kind, patterns in self.patterns.items() for each in patterns}
        found |= {f"{DELAY} {name}": str(seconds) for name, seconds in self.delays.items()}
        return (
            found
            | {f"{BLOCK} {name}": "1" for name in self.blocked}
            | {f"{RELEASE} {name}": "1" for name in self.released}
        )

    @classmethod
    def of(cls, orders: Mapping[str, str], setting: int) -> Self:
        """From names and values; what is damaged, or of a version that is not known, is logged and left out.

        ``setting``: FRONTIER_MAX_SESSIONS.
        """
        found = cls()
        for order, value in orders.items():
            try:
                kind, name = split_order(order)
                if kind in (BLOCK, RELEASE):  # no search: there may be thousands
                    _fitting(found.blocked if kind == BLOCK else found.released).append(name)
                elif kind != STOPPED:  # which has ended the workers of that time
                    found.change(order, value, setting)
            except ValueError as error:
                logger.error("An order of the console is ignored: %.200r: %.200s", order, error)
        return found

    def check(self, order: str) -> None:
        """Raise ValueError if there are too many orders of its kind. O(orders)."""
        kind, name = split_order(order)
        table = {DELAY: self.delays, BLOCK: self.blocked, RELEASE: self.released, **self.patterns}.get(kind, ())
        if name not in table:
            _fitting(table, MAX_PATTERNS if kind in KINDS else MAX_NAMES)

    def change(self, order: str, value: str | None, setting: int) -> None:
        """Note the ``value`` of an order. O(orders). Raises ValueError for what is no order."""
        kind, name = split_order(order)
        if kind == PAUSED:
            self.paused = value is not None
        elif kind == STOPPED:
            self.paused = self.paused and value is None
        elif kind == SESSIONS:
            limit = setting if value is None else checked_limit(int(value))
            self.sessions = None if limit == setting else (limit, setting)
        elif kind == LIMIT and value is not None:
            self.limits[name] = checked_count(int(value))
        elif kind == LIMIT:
            self.limits.pop(name, None)
        elif kind == DELAY and value is not None and (seconds := checked_delay(float(value))):
            self.check(order)
            self.delays[name] = seconds
        elif kind == DELAY:
            self.delays.pop(name, None)
        else:
            names = self.patterns.get(kind) if kind in KINDS else self.blocked if kind == BLOCK else self.released
            assert names is not None
            if value is None:
                names[:] = [each for each in names if each != name]
            elif name not in names:
                self.check(order)
                names.append(name)

    def __bool__(self) -> bool:
        return self != type(self)()


def split_order(order: str) -> tuple[str, str]:
    """The kind of an order, and the canonical name of its server or domain. Raises ValueError for what is none."""
    kind, _, name = order.partition(" ")
    if kind in (DELAY, BLOCK, RELEASE) and name and server_name(name) == name:
        return kind, name
    if order in (PAUSED, STOPPED, SESSIONS):
        return order, ""
    if kind == LIMIT and name in LIMITS:
        return kind, name
    if kind in KINDS and UrlPatterns([name]):
        return kind, name
    raise ValueError("not an order of this version")


def in_words(order: str, value: str | None) -> str:
    """What the order ``order`` with this ``value`` means; the text of an unknown one. O(length)."""
    kind, _, name = order.partition(" ")
    if kind == DELAY:
        seconds = float(value or 0)
        return f"{name}: at least {seconds:g} s between two requests" if seconds else f"{name}: no delay is ordered"
    if kind == SESSIONS:
        return "as many connections as the settings allow" if value is None else f"at most {value} connections"
    if kind == LIMIT:
        limit = "as the settings say" if value is None else value if int(value) else "no limit"
        return f"{LIMITS.get(name, name)}: {limit}"
    words = {
        PAUSED: ("the crawl continues", "the crawl is paused"),
        STOPPED: ("the crawl ends", "the crawl ends"),
        BLOCK: (f"{name} is not blocked", f"{name} is blocked"),
        EXCLUDE: (f"{name} is fetched again, if it is found", f"nothing is fetched of {name}"),
        INCLUDE: (f"links need not match {name}", f"links are only followed to {name}"),
        RAISE: (f"{name} is not fetched first", f"{name} is fetched first"),
        LOWER: (f"{name} is not fetched last", f"{name} is fetched last"),
        RELEASE: (f"{name} is not released from the guard", f"{name} is released from the guard"),
    }
    return words.get(kind, (order, order))[value is not None]


class OrderBook:
    """Orders, and the file at ``path`` that keeps them; None: they end with the process."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self.orders = Orders()
        #: The last actions of this run: when (seconds since the epoch), and what.
        self.actions: deque[dict[str, Any]] = deque(maxlen=MAX_ACTIONS)

    @property
    def is_kept(self) -> bool:
        """Whether orders outlive the process."""
        return self._path is not None

    def done(self, words: str) -> None:
        """Note an action."""
        self.actions.append({"at": time.time(), "what": words})

    def load(self) -> None:
        """Read the file, if there is one. A damaged one is renamed and logged, and no order is in force."""
        path = self._path
        try:
            if path is None or not path.exists():
                return
            if path.stat().st_size > MAX_BYTES:
                raise ValueError(f"larger than {MAX_BYTES} bytes")
            state = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(state, dict) or state.get("version") != VERSION:
                raise ValueError(f"not orders of version {VERSION}")
            given, setting = state.get("given"), state.get("setting")
            if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
                raise ValueError("given: not an object of texts")
            self.orders = Orders.of(given, checked_limit(setting))
        except (OSError, ValueError, RecursionError) as error:
            assert path is not None
            logger.error("Orders of the console cannot be read, none is in force: %s: %s", path, error)
            self._put_aside(path)

    @staticmethod
    def _put_aside(path: Path) -> None:
        try:
            path.replace(path.with_suffix(".damaged"))
        except OSError as error:
            logger.error("%s: %s", path, error.strerror)

    def save(self) -> bool:
        """Replace the file durably in one step (an fsync); returns whether that succeeded, or nothing is to be kept."""
        path = self._path
        if path is None:
            return True
        try:
            setting = 1 if self.orders.sessions is None else self.orders.sessions[1]
            replace_file(path, json.dumps({"version": VERSION, "setting": setting, "given": self.orders.given()}))
        except OSError as error:
            logger.error("Orders of the console apply, but cannot be kept: %s: %s", path, error.strerror)
            return False
        return True


def checked_delay(value: Any) -> float:
    """A number of seconds from 0 to ``MAX_DELAY``; raises ValueError for anything else."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= MAX_DELAY:  # false for NaN
        raise ValueError(f"seconds: must be a number from 0 to {MAX_DELAY:.0f}")
    return float(value)


def checked_limit(value: Any) -> int:
    """A number of sessions; raises ValueError for anything else."""
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= MAX_SESSIONS:
        raise ValueError(f"limit: must be a whole number from 1 to {MAX_SESSIONS}")
    return value


def checked_count(value: Any) -> int:
    """A limit, 0: none; raises ValueError for anything else."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_LIMIT:
        raise ValueError(f"value: must be a whole number from 0 to {MAX_LIMIT}")
    return value


def _fitting(names: T, most: int = MAX_NAMES) -> T:
    if len(names) >= most:
        raise ValueError(f"at most {most} of a kind")
    return names
