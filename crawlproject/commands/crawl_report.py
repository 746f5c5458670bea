"""The output of ``scrapy frontier redis://...`` about a crawl by many workers, besides its frontier."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from crawlproject.options.redis import RedisOptions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.settings import BaseSettings

    from crawlproject.workers.reading import NewCopy, StoredCrawl

#: Columns of the table of workers: key, format.
COLUMNS = (
    ("host", "{:>15}"),
    ("pid", "{:>8}"),
    ("since", "{:>25}"),
    ("pages", "{:>9}"),
    ("partitions", "{:>10}"),
    ("sessions", "{:>8}"),
    ("lag", "{:>6}"),
    ("lease", "{:>6}"),
    ("worker", "{}"),
)


@contextmanager
def crawl_in_redis(
    url: str, key: str | None, settings: BaseSettings, new_copy: NewCopy, page: str = ""
) -> Iterator[StoredCrawl]:
    """The crawl ``key`` (None: FRONTIER_REDIS_KEY, or ``web``) in the Redis at ``url``; see ``stored_crawl``.

    ``page``: canonical URL of the only page of interest.  Other parameters of the client are those of the settings.
    Raises StoreError, ValueError for a wrong URL or key.
    """
    from crawlproject.options.extras import command_needs_extra

    with command_needs_extra("frontier", "redis"):
        from crawlproject.workers.connection import RedisAddress, RedisConnector
        from crawlproject.workers.keys import Keys
        from crawlproject.workers.reading import stored_crawl

    redis = RedisOptions.from_settings(settings)
    connector = RedisConnector(RedisAddress(params={**redis.connection, "url": url}, timeout=redis.timeout))
    keys = Keys(key or redis.key_of("web"))
    with stored_crawl(connector, keys, redis.timeout, new_copy, page) as crawl:
        yield crawl


def crawl_counts(crawl: StoredCrawl) -> dict[str, Any]:
    """State of the crawl and of its partitions. O(partitions)."""
    inboxes = [inbox for _, inbox in crawl.records.values()]
    live = {worker.id for worker in crawl.workers if worker.lease > 0}
    return {
        "crawl": crawl.meta.get("state", ""),
        "pages": crawl.pages,
        "workers_alive": len(live),
        "partitions": len(crawl.records),
        "without_owner": sum(record.owner not in live for record, _ in crawl.records.values()),
        "inbox_messages": sum(inboxes),
        "longest_inbox": max(inboxes, default=0),
    }


def workers(crawl: StoredCrawl) -> list[dict[str, Any]]:
    """One for each worker, most pages first; a value of a wrong type is None."""
    from crawlproject.workers.roster import worker_facts

    return sorted(map(worker_facts, crawl.workers), key=lambda worker: (-(worker["pages"] or 0), worker["worker"]))


def partitions(crawl: StoredCrawl) -> list[dict[str, Any]]:
    """One for each partition: owner, URLs queued or in progress, servers, messages in the inbox."""
    return [
        {
            "partition": number,
            "owner": record.owner,
            "epoch": record.epoch,
            "urls": record.stored,
            "servers": record.servers,
            "inbox": inbox,
        }
        for number, (record, inbox) in crawl.records.items()
    ]


def place(crawl: StoredCrawl, server: str) -> dict[str, Any]:
    """Partition and owner of a server."""
    partition, owner = crawl.owner_of(server)
    return {"partition": partition, "owner": owner}


def workers_table(found: list[dict[str, Any]]) -> list[str]:
    """Lines for people."""
    if not found:
        return []
    title = " ".join(form.format(key) for key, form in COLUMNS)
    rows = (" ".join(form.format(_shown(worker[key])) for key, form in COLUMNS) for worker in found)
    return ["", title, *rows]


def _shown(value: Any) -> str:
    return "" if value is None else str(value)
