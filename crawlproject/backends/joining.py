"""Starts a worker: creates the crawl in Redis, or joins the existing one if their settings agree."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING, Any

from crawlproject.storage.errors import StoreError
from crawlproject.workers.connection import reason_of
from crawlproject.workers.control import AWAY, join
from crawlproject.workers.scripts import STATE, digest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from crawlproject.workers.connection import RedisConnector
    from crawlproject.workers.keys import Keys

logger = logging.getLogger(__name__)

#: Version of everything stored in Redis: the meaning of keys and scripts, and the format of blobs.
FORMAT = "1"

#: Characters of a value that a message shows.
_SHOWN = 100


class Joining:
    """Joins the crawl ``keys`` with the fields ``ours``, in which its workers must agree.

    ``start_urls``: key of the start URLs, and its type.  All methods block, for some round trips or until the timeout;
    all raise StoreError, in one line with the setting.
    """

    def __init__(
        self, connector: RedisConnector, keys: Keys, ours: Mapping[str, str], start_urls: tuple[str, str]
    ) -> None:
        self._connector = connector
        self._keys = keys
        self._ours = ours
        self._start_urls = start_urls
        self._partitions = range(int(ours["partitions"]))

    def check(self) -> dict[str, str]:
        """Whether the server and its crawl can be used; returns the fields of the crawl, {} if there is none yet.

        Changes nothing in Redis.
        """
        for warning in self._connector.check():
            logger.warning("%s: %s", self._connector.place, warning)
        found: dict[str, str] = self._call(self._check)
        return found

    def join(self) -> str:
        """Create the crawl, or join the existing one; returns its id."""
        found: dict[str, str] = self._call(lambda client: join(client, self._keys, self._ours))
        self._compare(found)  # others may have created it meanwhile
        return found["crawl"]

    def _call(self, step: Callable[[Any], Any]) -> Any:
        try:
            with self._connector.sync_client() as client:
                return step(client)
        except AWAY as error:
            raise StoreError(self._connector.place, reason_of(error)) from error

    def _check(self, client: Any) -> dict[str, str]:
        self._check_types(client)
        found = self._fields(client)
        if not found and (left := self._left(client)) and not (found := self._fields(client)):
            self._refuse(
                f"the key {left} remains from an earlier crawl: delete it, or name another in FRONTIER_REDIS_KEY"
            )
        if found:
            self._compare(found)
        self._try(client)
        return found

    def _try(self, client: Any) -> None:
        """Use each command and a script once, so that missing permissions are found now."""
        prefix = f"{self._keys.meta}:trial"
        _run(client, _trial(prefix))
        client.script_load(STATE)
        client.execute_command("EVALSHA", digest(STATE), 1, prefix, "", "")

    def _fields(self, client: Any) -> dict[str, str]:
        found = client.hgetall(self._keys.meta)
        return {key.decode("utf-8", "replace"): value.decode("utf-8", "replace") for key, value in found.items()}

    def _compare(self, theirs: Mapping[str, str]) -> None:
        if reason := difference(self._keys.name, self._ours, theirs):
            self._refuse(reason)

    def _check_types(self, client: Any) -> None:
        """Refuse keys of our names that are of another type."""
        keys = self._keys
        hashes = (keys.meta, keys.workers, keys.dead, keys.info, keys.members, keys.spent, keys.orders)
        ours = {**dict.fromkeys(hashes, b"hash"), keys.actions: b"list"}
        types = _run(client, [("TYPE", key) for key in (*ours, self._start_urls[0])])
        for (key, wanted), found in zip(ours.items(), types, strict=False):
            if found not in (b"none", wanted):
                self._refuse(f"the key {key} is a {found.decode()}: name another in FRONTIER_REDIS_KEY")
        key, kind = self._start_urls
        if (found := types[-1].decode()) not in ("none", kind):
            self._refuse(
                f"REDIS_START_URLS_KEY={key!r:.300}: is a {found}, not a {kind}; "
                "see REDIS_START_URLS_AS_SET and REDIS_START_URLS_AS_ZSET"
            )

    def _left(self, client: Any) -> str:
        """The key of a partition that has data, although there is no crawl; "" if there is none."""
        keys = self._keys
        hashes, inboxes = map(keys.m, self._partitions), map(keys.i, self._partitions)
        commands = [*(("HGET", key, "seq") for key in hashes), *(("XLEN", key) for key in inboxes)]
        answers = _run(client, commands)
        return next((str(command[1]) for command, found in zip(commands, answers, strict=True) if found), "")

    def _refuse(self, reason: str) -> None:
        raise StoreError(self._connector.place, reason)


def difference(name: str, ours: Mapping[str, str], theirs: Mapping[str, str]) -> str:
    """The reason why a worker with the fields ``ours`` cannot join the crawl ``name`` with ``theirs``; "" if it can."""
    their = {key: theirs.get(key, "") for key in ours}
    if not their["crawl"] or not their["format"]:
        return f"the key {{{name}}}:meta is not of a crawl: name another in FRONTIER_REDIS_KEY"
    if their["format"] != FORMAT:
        return (
            f"the crawl {name!r} has format {_short(their['format'])}, this version knows format {FORMAT}: "
            "use the version of the other workers, or name another crawl in FRONTIER_REDIS_KEY"
        )
    if their["spider"] != ours["spider"]:
        return (
            f"the crawl {name!r} belongs to the spider {_short(their['spider'])!r}, not to {ours['spider']!r}: "
            "name another in FRONTIER_REDIS_KEY"
        )
    if their["order"] != ours["order"]:
        return f"FRONTIER_POLICY: sorts URLs by {ours['order']}, the crawl {name!r} by {_short(their['order'])}"
    if their["quality"] != ours["quality"]:
        return f"FRONTIER_QUALITY: rates URLs by {ours['quality']}, the crawl {name!r} by {_short(their['quality'])}"
    if their["suffixes"] != ours["suffixes"]:
        return (
            f"the package tldextract has another list of public suffixes than that of the crawl {name!r} "
            f"({ours['suffixes']}, not {_short(their['suffixes'])}): install the same version on all machines"
        )
    return _different_setting(name, json.loads(ours["settings"]), their["settings"])


def _different_setting(name: str, ours: Mapping[str, str], theirs: str) -> str:
    try:
        values = dict(json.loads(theirs))
    except (ValueError, TypeError):
        return f"the key {{{name}}}:meta is damaged: its settings cannot be read"
    for setting, value in ours.items():
        if values.get(setting) != value:
            return f"{setting}={_short(value)}: the crawl {name!r} has {_short(str(values.get(setting)))}"
    return ""


def _short(value: str) -> str:
    return value if len(value) <= _SHOWN else f"{value[:_SHOWN]}..."


def _run(client: Any, commands: Iterable[tuple[Any, ...]]) -> list[Any]:
    """The answers to ``commands``, in one pipeline. Raises the first error."""
    pipeline = client.pipeline(transaction=False)
    for command in commands:
        pipeline.execute_command(*command)
    answers: list[Any] = pipeline.execute()
    return answers


def _trial(prefix: str) -> list[tuple[str, ...]]:
    """Commands on keys that begin with ``prefix``, of which none is left: each that workers use, except scripts."""
    hash_, list_, string, stream = (f"{prefix}:{kind}" for kind in ("hash", "list", "string", "stream"))
    return [
        ("TIME",),
        ("HSET", hash_, "a", "1"),
        ("HINCRBY", hash_, "a", "1"),
        ("HINCRBYFLOAT", hash_, "a", "1"),
        ("HEXISTS", hash_, "a"),
        ("HGET", hash_, "a"),
        ("HMGET", hash_, "a"),
        ("HGETALL", hash_),
        ("HDEL", hash_, "b"),
        ("RPUSH", list_, "a"),
        ("LRANGE", list_, "0", "0"),
        ("LTRIM", list_, "0", "0"),
        ("SET", string, "a"),
        ("GET", string),
        ("XADD", stream, "*", "a", "1"),
        ("XLEN", stream),
        ("XRANGE", stream, "-", "+"),
        ("XREAD", "COUNT", "1", "STREAMS", stream, "0"),
        ("XDEL", stream, "0-1"),
        *(("DEL", key) for key in (hash_, list_, string, stream)),
    ]
