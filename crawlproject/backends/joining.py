"""Starts a worker: creates the crawl in Redis, or joins the existing one if their settings agree.

Both calls block, for some round trips or until the timeout; both raise StoreError, in one line with the setting.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from crawlproject.storage.errors import StoreError
from crawlproject.workers.connection import reason_of
from crawlproject.workers.control import AWAY, join, texts

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from crawlproject.workers.connection import RedisConnector
    from crawlproject.workers.keys import Keys

#: Version of everything stored in Redis: the meaning of keys and scripts, and the format of blobs.
FORMAT = "1"

#: Field of a crawl in which its workers must agree -> what it is.
_AGREED = {
    "format": "format of what is in Redis",
    "spider": "spider (name another crawl in FRONTIER_REDIS_KEY)",
    "order": "FRONTIER_POLICY: order of URLs",
    "quality": "FRONTIER_QUALITY: rates URLs by",
    "suffixes": "list of public suffixes (install the same version of tldextract on all machines)",
}


def check_crawl(connector: RedisConnector, keys: Keys, ours: Mapping[str, str]) -> dict[str, str]:
    """Whether the server and its crawl can be used by a worker with the fields ``ours``; changes nothing in Redis.

    Returns the fields of the crawl, {} if there is none yet.
    """
    connector.check()
    found = _call(connector, lambda client: texts(client.hgetall(keys.meta)))
    if found:
        _compare(connector, keys, ours, found)
    return found


def join_crawl(connector: RedisConnector, keys: Keys, ours: Mapping[str, str]) -> str:
    """Create the crawl, or join the existing one; returns its id."""
    found = _call(connector, lambda client: join(client, keys, ours))
    _compare(connector, keys, ours, found)  # others may have created it meanwhile
    return found["crawl"]


def _call(connector: RedisConnector, step: Callable[[Any], dict[str, str]]) -> dict[str, str]:
    try:
        with connector.sync_client() as client:
            return step(client)
    except AWAY as error:
        raise StoreError(connector.place, reason_of(error)) from error


def _compare(connector: RedisConnector, keys: Keys, ours: Mapping[str, str], found: Mapping[str, str]) -> None:
    settings = json.loads(ours["settings"])
    try:
        theirs = {**found, **json.loads(found["settings"])} if found["crawl"] else {}
    except (KeyError, ValueError, TypeError):
        theirs = {}
    if not theirs:
        raise StoreError(connector.place, f"the key {keys.meta} is not of a crawl: name another in FRONTIER_REDIS_KEY")
    for field, name in {**_AGREED, **{setting: setting for setting in settings}}.items():
        here, there = {**ours, **settings}[field], theirs.get(field)
        if here != there:
            raise StoreError(connector.place, f"{name}: {here:.100} here, {there!s:.100} in the crawl {keys.name!r}")
