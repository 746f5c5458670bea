"""The operator's orders and the file that keeps them over a restart.

An order has a name and a value, both texts: ``paused`` (any value), ``sessions`` (a number), ``limit NAME`` (a number),
``delay NAME`` (seconds), ``block NAME``, ``release NAME``, and ``exclude``, ``include``, ``raise``, ``lower PATTERN``
(any value), and ``stopped``, which ends the crawl; without a value it is undone.
"""

from __future__ import annotations

import json
import logging
import time
from collections import Counter, deque
from typing import TYPE_CHECKING, Any

from crawlproject.frontier.live_limits import EXCLUDE, INCLUDE, KINDS, LIMITS, LOWER, MAX_LIMIT, MAX_PATTERNS, RAISE
from crawlproject.frontier.orders import MAX_NAMES
from crawlproject.storage.replacing import replace_file
from crawlproject.urls.server_key import server_name
from crawlproject.urls.wildcards import UrlPatterns

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

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

#: Longest delay between two requests, seconds; most sessions that can be ordered.
MAX_DELAY, MAX_SESSIONS = 7 * 86_400.0, 10_000


class ActionError(ValueError):
    """An action that is impossible now."""


class UnavailableError(ValueError):
    """Redis, which holds the orders of all workers, does not answer."""


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


def checked(order: str, value: str) -> str:
    """The kind of an order with a value. Raises ValueError for what is none."""
    kind, _ = split_order(order)
    if kind == DELAY:
        checked_delay(float(value))
    elif kind == SESSIONS:
        checked_count(int(value), 1, MAX_SESSIONS)
    elif kind == LIMIT:
        checked_count(int(value))
    return kind


def checked_orders(given: Mapping[str, str]) -> dict[str, str]:
    """The orders among names and values; what is damaged, or of a version that is not known, is logged and left out."""
    found: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for order, value in given.items():
        try:
            kind = checked(order, value)
            counts[kind] += 1
            if counts[kind] > _most(kind):
                raise ValueError(f"at most {_most(kind)} of a kind")
        except ValueError as error:
            logger.error("An order of the console is ignored: %.200r: %.200s", order, error)
            continue
        if kind != STOPPED:  # which has ended the workers of that time
            found[order] = value
    return found


def _most(kind: str) -> int:
    return MAX_PATTERNS if kind in KINDS else MAX_NAMES


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
        #: Those in force -> their values.
        self.orders: dict[str, str] = {}
        #: The last actions of this run: when (seconds since the epoch), and what.
        self.actions: deque[dict[str, Any]] = deque(maxlen=MAX_ACTIONS)

    @property
    def is_kept(self) -> bool:
        """Whether orders outlive the process."""
        return self._path is not None

    def of(self, kind: str) -> dict[str, str]:
        """Names and values of the orders of a kind. O(orders)."""
        start = f"{kind} "
        return {order.removeprefix(start): value for order, value in self.orders.items() if order.startswith(start)}

    def check(self, order: str, value: str | None) -> None:
        """Raise ValueError for what is no order, and if there are too many of its kind. O(orders)."""
        kind = split_order(order)[0] if value is None else checked(order, value)
        if value is not None and order not in self.orders and len(self.of(kind)) >= _most(kind):
            raise ValueError(f"at most {_most(kind)} of a kind")

    def note(self, order: str, value: str | None) -> None:
        """An order is in force from now on; None: no longer. O(1)."""
        if order == STOPPED:
            self.orders.pop(PAUSED, None)
        elif value is None:
            self.orders.pop(order, None)
        else:
            self.orders[order] = value

    def done(self, words: str) -> None:
        """Note an action."""
        self.actions.append({"at": time.time(), "what": words})

    def load(self) -> None:
        """Read the file, if there is one. A damaged one is renamed and logged, and no order is in force."""
        path = self._path
        if path is None:
            return
        try:
            if not path.exists():
                return
            if path.stat().st_size > MAX_BYTES:
                raise ValueError(f"larger than {MAX_BYTES} bytes")
            state = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(state, dict) or state.get("version") != VERSION:
                raise ValueError(f"not orders of version {VERSION}")
            given = state.get("given")
            if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
                raise ValueError("given: not an object of texts")
            self.orders = checked_orders(given)
        except (OSError, ValueError, RecursionError) as error:
            logger.error("Orders of the console cannot be read, none is in force: %s: %s", path, error)
            try:
                path.replace(path.with_suffix(".damaged"))
            except OSError as failure:
                logger.error("%s: %s", path, failure.strerror)

    def save(self) -> bool:
        """Replace the file durably in one step (an fsync); returns whether that succeeded, or nothing is to be kept."""
        if self._path is None:
            return True
        try:
            replace_file(self._path, json.dumps({"version": VERSION, "given": self.orders}))
        except OSError as error:
            logger.error("Orders of the console apply, but cannot be kept: %s: %s", self._path, error.strerror)
            return False
        return True


def checked_delay(value: Any) -> float:
    """A number of seconds from 0 to ``MAX_DELAY``; raises ValueError for anything else."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= MAX_DELAY:  # false for NaN
        raise ValueError(f"seconds: must be a number from 0 to {MAX_DELAY:.0f}")
    return float(value)


def checked_count(value: Any, least: int = 0, most: int = MAX_LIMIT) -> int:
    """A whole number in these bounds; raises ValueError for anything else."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise ValueError(f"value: must be a whole number from {least} to {most}")
    return value
