"""The Redis commands that workers use: an access list must allow them, a compatible server must provide them."""

from __future__ import annotations

#: By whom: a worker itself or its scripts.
DATA = (
    "DEL", "EVAL", "EVALSHA", "GET", "HDEL", "HEXISTS", "HGET", "HGETALL", "HINCRBY", "HINCRBYFLOAT", "HMGET", "HSET",
    "INFO",
    "LRANGE", "LTRIM", "RPUSH", "SCRIPT LOAD", "SET", "TIME", "TYPE", "XADD", "XDEL", "XLEN", "XRANGE", "XREAD",
)  # fmt: skip
#: For start URLs in a list, a set, or a sorted set.
START_URLS = ("LLEN", "LREM", "SCARD", "SRANDMEMBER", "SREM", "ZCARD", "ZREM", "ZREVRANGE")
#: By the client when it connects; the last two by that of a Cluster.
CONNECTION = ("AUTH", "PING", "SELECT", "CLUSTER SLOTS", "COMMAND")
COMMANDS = (*DATA, *START_URLS, *CONNECTION)


def access_rules(crawl: str, start_urls_key: str) -> str:
    """The arguments of ``ACL SETUSER name`` for a user who crawls ``crawl``; without password."""
    allowed = " ".join(f"+{command.lower().replace(' ', '|')}" for command in COMMANDS)
    return f"resetkeys ~{{{crawl}}}:* ~{{{crawl}:* ~{start_urls_key} resetchannels -@all {allowed}"


def trial(prefix: str) -> list[tuple[str, ...]]:
    """Commands on keys that begin with ``prefix``: each of ``DATA`` once, except scripts; no key is left."""
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
