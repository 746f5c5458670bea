"""The settings of the frontier: policy, quality, politeness, sessions, backend."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from scrapy.settings import BaseSettings
from scrapy.utils.misc import load_object

from crawlproject.frontier.frontier import Frontier
from crawlproject.frontier.policy import POLICIES, Policy, checked_policy
from crawlproject.frontier.politeness import Mode, Politeness
from crawlproject.frontier.quality import QUALITIES, Quality, ScoredQuality
from crawlproject.options.project_rules import NO_LIMIT
from crawlproject.options.values import Options, Reader, setting
from crawlproject.urls import domain_of_server
from crawlproject.urls.server_key import slot_name

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from crawlproject.frontier.budgets import Budgets

PolitenessGroup = Literal["server", "domain", "ip"]

BACKENDS = ("memory", "disk", "redis")

#: Their values are the defaults.
_RULES = Politeness()


def _politeness(reader: Reader) -> Politeness:
    rules = Politeness(
        # Bursts on one connection, then a rest in proportion: the same average load as a wait after each request,
        # without the cost of a new connection for each.
        # Set by the add-on to "slots" where the project has rules of its own (``project_rules``).
        mode=reader.choice("FRONTIER_POLITENESS", _RULES.mode, get_args(Mode)),
        # Heritrix waits 5 times, Mercator 10 times the last fetch. With 5 a server spends at most a sixth of the time
        # on us, and a site of 1,000 pages of 0.1 s takes about 10 minutes.
        factor=reader.number("FRONTIER_DELAY_FACTOR", _RULES.factor),
        min_delay=reader.number("FRONTIER_MIN_DELAY", _RULES.min_delay),
        max_delay=reader.number("FRONTIER_MAX_DELAY", _RULES.max_delay),
        # Set by the add-on: Scrapy's DOWNLOAD_DELAY, or the spider's ``download_delay``.
        request_delay=reader.number("FRONTIER_REQUEST_DELAY", _RULES.request_delay),
        connections=_connections(reader),
        host_delays=_by_host(reader, "delay", lambda slot: slot.number("delay", 0.0)),
        host_connections=_by_host(reader, "concurrency", lambda slot: slot.count("concurrency", 1, least=1)),
        # Failing servers and 429/503: 5, 10, 20, ... seconds, at most 5 minutes.
        min_backoff=reader.number("FRONTIER_MIN_BACKOFF", _RULES.min_backoff),
        max_backoff=reader.number("FRONTIER_MAX_BACKOFF", _RULES.max_backoff),
        # 18% of real robots.txt files have a Crawl-delay, most often 10 s; some ask for hours.
        max_crawl_delay=reader.number("FRONTIER_MAX_CRAWL_DELAY", _RULES.max_crawl_delay),
    )
    reader.check_order("FRONTIER_MIN_DELAY", "FRONTIER_MAX_DELAY")
    reader.check_order("FRONTIER_MIN_BACKOFF", "FRONTIER_MAX_BACKOFF")
    return rules


def _connections(reader: Reader) -> int:
    """``CONCURRENT_REQUESTS_PER_DOMAIN`` of the project, or Scrapy's, where its rules hold; else 1."""
    per_domain = reader.count("CONCURRENT_REQUESTS_PER_DOMAIN", 8)
    has_rules = reader.value("FRONTIER_POLITENESS", _RULES.mode) == "slots"
    return (per_domain or NO_LIMIT) if has_rules else 1


def _by_host(reader: Reader, name: str, read: Callable[[Reader], Any]) -> dict[str, Any]:
    """What ``DOWNLOAD_SLOTS`` gives to hosts (or to slots named in ``meta``, which are no hosts) as ``name``.

    The keys are ``slot_name``.
    """
    found = {}
    for host, slot in reader.dictionary("DOWNLOAD_SLOTS").items():
        if not isinstance(slot, dict):
            raise reader.wrong("DOWNLOAD_SLOTS", "a dict of dicts")
        try:
            if name in slot:
                found[slot_name(host)] = read(Reader(BaseSettings(slot)))
        except ValueError as error:
            raise ValueError(f"DOWNLOAD_SLOTS[{host!r}]: {error}") from error
    return found


def _directory(reader: Reader) -> Path | None:
    """``FRONTIER_DIR``, else a directory in ``JOBDIR``."""
    own, job = reader.path("FRONTIER_DIR"), reader.path("JOBDIR")
    return own or (job / "frontier" if job else None)


def _place(reader: Reader) -> str:
    name = "FRONTIER_DIR" if reader.path("FRONTIER_DIR") else "JOBDIR"
    return f"{name}={str(reader.path(name))!r}"


def _backend(reader: Reader) -> str:
    directory = _directory(reader)
    if reader.value("FRONTIER_BACKEND") is None:
        return "memory" if directory is None else "disk"
    backend = reader.choice("FRONTIER_BACKEND", None, BACKENDS)
    if backend == "disk" and directory is None:
        raise ValueError("FRONTIER_BACKEND='disk': FRONTIER_DIR or JOBDIR must name a directory")
    if backend == "redis" and directory is not None and directory.is_dir() and any(directory.iterdir()):
        raise ValueError(
            f"{_place(reader)}: has the frontier of a crawl on disk; FRONTIER_BACKEND='redis' needs another"
        )
    return backend


def _policy(reader: Reader) -> type[Policy]:
    # Most quality over time on every web tried, known or learned (docs/research/results.md).
    value = reader.value("FRONTIER_POLICY", "prefix")
    if isinstance(value, str) and value in POLICIES:
        return POLICIES[value]
    loaded = _load(reader, "FRONTIER_POLICY", value, tuple(POLICIES))
    policy = reader.parsed("FRONTIER_POLICY", value, lambda _: checked_policy(loaded))
    _make("FRONTIER_POLICY", policy)
    return policy


def _quality(reader: Reader) -> Quality:
    of_policy = _policy(reader).own_quality
    if of_policy is not None:
        if reader.is_set("FRONTIER_QUALITY"):
            raise ValueError(
                "FRONTIER_QUALITY: the policy of FRONTIER_POLICY has a quality of its own; set one of them"
            )
        return of_policy()
    path = reader.path("FRONTIER_QUALITY_FILE")
    # The best of those learned during the crawl, on synthetic webs and a real one (docs/research/results.md). Requests
    # that a spider yields one by one all have the same, so Scrapy's priority orders them.
    value = reader.value("FRONTIER_QUALITY", "in-links")
    if isinstance(value, str) and value in QUALITIES:
        return QUALITIES[value]()
    if value == "scores":
        if path is None:
            raise ValueError("FRONTIER_QUALITY='scores': FRONTIER_QUALITY_FILE must name a file of URL<TAB>score lines")
        return reader.parsed("FRONTIER_QUALITY_FILE", path, _scores)
    loaded = _load(reader, "FRONTIER_QUALITY", value, (*QUALITIES, "scores"))
    if not (isinstance(loaded, type) and issubclass(loaded, Quality)):
        raise ValueError(f"FRONTIER_QUALITY={value!r}: the class must have quality(url, depth)")
    return cast("Quality", _make("FRONTIER_QUALITY", loaded))


def _load(reader: Reader, name: str, value: Any, choices: tuple[str, ...]) -> Any:
    hint = reader.wrong(name, f"one of {', '.join(choices)}, or the path of a class")
    if isinstance(value, str) and "." not in value:
        raise hint
    try:
        return load_object(value)
    except (ImportError, NameError, AttributeError, SyntaxError, ValueError, TypeError) as error:
        raise ValueError(f"{hint} ({error})") from error


def _make(name: str, loaded: Any) -> Any:
    try:
        return loaded()
    except TypeError as error:
        raise ValueError(f"{name}={loaded!r}: must be a class that takes no arguments ({error})") from error


def _scores(path: Path) -> ScoredQuality:
    with path.open(encoding="utf-8") as lines:
        return ScoredQuality.from_lines(lines)


@dataclass(frozen=True)
class FrontierOptions(Options):
    """Most settings ``FRONTIER_*``, and Scrapy's settings that affect the frontier. Times in seconds.

    FRONTIER_POLICY: order of URLs: `prefix`, `capacity`, `performance`, `quality`, `breadth-first`, `depth-first`, or
        the path of a class ([policies](policies.md))
    FRONTIER_QUALITY: worth of a page: `in-links`, `partial-pagerank`, `opic`, `depth`, `scores`, `constant`, `zipf`,
        or the path of a class ([policies](policies.md))
    FRONTIER_QUALITY_FILE: for `scores`: file of lines `URL<TAB>score`; other URLs have score 0
    FRONTIER_MAX_SESSIONS: connections open at once, so also requests in progress
    FRONTIER_DOMAIN_SHARE: share of the sessions that servers of one registered domain may hold while other domains
        are ready
    FRONTIER_MAX_BATCH: maximum requests per session
    FRONTIER_BACKEND: `memory`, `disk` or `redis`; default: `disk` if there is a directory, else `memory`
    FRONTIER_DIR: directory of the `disk` backend; default: `frontier` in `JOBDIR`
    FRONTIER_COMMIT_INTERVAL: seconds between commits to disk; a crash repeats at most the pages of this time
    FRONTIER_FAST_LANE: `auto`: one coroutine does the work of Scrapy's engine, downloader and scraper; `off`: these
    FRONTIER_CRAWL_LOG: file with one line of JSON for each URL that ended, and why ([what became of a
        URL](troubleshooting.md#why-was-a-page-not-fetched))
    FRONTIER_MISSING_SPIDER: pages of a spider that an earlier run of the crawl had (`-a spiders`) and this one has not:
        `wait` in the store, or go to `web`
    FRONTIER_RECRAWL_AGE: at the start, pages at least this old are queued again: `7d`, `12h`, `30m`, `90s`
    FRONTIER_POLITENESS: `session`: rest after each session; `request`: wait after each request; `slots`: no rests, but
        the project's rules: the default where it sets `DOWNLOAD_DELAY`, `CONCURRENT_REQUESTS_PER_DOMAIN` or
        AutoThrottle ([politeness](limits.md#politeness))
    FRONTIER_POLITENESS_GROUP: servers that share one politeness: each `server` alone, a registered `domain`, or an
        address (`ip`)
    FRONTIER_DELAY_FACTOR: the wait as a multiple of the time the server was busy; 0: none
    FRONTIER_MIN_DELAY: minimum wait, seconds
    FRONTIER_MAX_DELAY: maximum wait that the factor causes, seconds
    FRONTIER_MAX_CRAWL_DELAY: a longer `Crawl-delay` is shortened to this, seconds
    FRONTIER_MIN_BACKOFF: rest after a first failure, 429 or 503, seconds; doubled after each further one
    FRONTIER_MAX_BACKOFF: maximum rest after a failure, seconds
    FRONTIER_MAX_FAILURES: failures in a row after which a server is given up; 0: never
    DOWNLOAD_DELAY: Scrapy's: minimum wait between two requests to a server; replaces the rests
    CONCURRENT_REQUESTS_PER_DOMAIN: Scrapy's: requests to a server at once; replaces the rests. With rests: one
    DOWNLOAD_SLOTS: Scrapy's: wait and connections of single hosts ([own server](limits.md#a-server-of-your-own))
    FRONTIER_CONNECT_TIMEOUT: maximum wait for a connection, seconds
    FRONTIER_PATIENCE: seconds that a server has for its first answer while others wait for its connection; 0: no
        limit
    FRONTIER_OUTAGE_FAILURES: failures in a row after which the crawl tests whether this machine's network is down; 0:
        never
    """

    policy: type[Policy] = setting(_policy)
    quality: Quality = setting(_quality)
    politeness: Politeness = setting(_politeness)
    group: PolitenessGroup = setting(Reader.choice, "FRONTIER_POLITENESS_GROUP", "server", get_args(PolitenessGroup))
    # The number in the paper; a home connection and a small machine can handle it.
    max_sessions: int = setting(Reader.count, "FRONTIER_MAX_SESSIONS", 64, least=1)
    # A domain that shows new subdomains on every page kept three quarters of the good pages waiting for ever
    # (1757b206:scripts/bench_dead_servers.py --kinds farm); with an eighth of the sessions, none.
    domain_share: float = setting(Reader.positive, "FRONTIER_DOMAIN_SHARE", 0.125, 1.0)
    # What most servers allow on a connection (Cao 2003, figure 3).
    max_batch: int = setting(Reader.count, "FRONTIER_MAX_BATCH", 100, least=1)
    # With the back-off of 5, 10, 20, ... seconds: a failing server is given up after 20 minutes.
    max_failures: int = setting(Reader.count, "FRONTIER_MAX_FAILURES", 10)
    # A dead server occupies a session until this timeout; 90% of live ones connect within 0.2 s.
    connect_timeout: float = setting(Reader.number, "FRONTIER_CONNECT_TIMEOUT", 10.0)
    #: For the first answer of a server, while others wait for its connection; infinite: the usual time-outs.
    # Servers that accept connections and never answer kept all others waiting for DOWNLOAD_TIMEOUT
    # (1757b206:scripts/bench_dead_servers.py --kinds mute); SYN packets are repeated after 1 and 3 s.
    patience: float = setting(lambda reader: reader.number("FRONTIER_PATIENCE", 5.0) or inf)
    # Whether it is an outage is decided by asking servers that answered before, which costs a connection or
    # three: rarely needed, as any answer in between sets the count back.
    outage_failures: int = setting(Reader.count, "FRONTIER_OUTAGE_FAILURES", 5)
    backend: str = setting(_backend)
    #: Directory of the disk backend's store; None with other backends.
    directory: Path | None = setting(lambda reader: _directory(reader) if _backend(reader) == "disk" else None)
    #: The setting that names it, with its value; for errors.
    place: str = setting(_place)
    # After a crash, the pages of at most this time are fetched again. Each commit costs one fsync.
    commit_interval: float = setting(Reader.number, "FRONTIER_COMMIT_INTERVAL", 1.0)
    recrawl_age: float | None = setting(Reader.age, "FRONTIER_RECRAWL_AGE")
    crawl_log: Path | None = setting(Reader.path_in_job, "FRONTIER_CRAWL_LOG")
    fast_lane: bool = setting(lambda reader: reader.choice("FRONTIER_FAST_LANE", "auto", ("auto", "off")) == "auto")

    #: Whether pages of a spider that an earlier run had go to the crawl's own; else they wait.
    missing_to_web: bool = setting(
        lambda reader: reader.choice("FRONTIER_MISSING_SPIDER", "wait", ("wait", "web")) == "web"
    )

    def new_frontier(
        self, budgets: Budgets | None = None, *, admits_newcomers: bool = False, address_sessions: int = 0
    ) -> Frontier:
        """An empty frontier. Groups by address are not known beforehand: they are joined at the look-up."""
        frontier = Frontier(
            self.policy(),
            self.politeness,
            max_batch=self.max_batch,
            max_failures=self.max_failures,
            group_of=domain_of_server if self.group == "domain" else None,
            admits_newcomers=admits_newcomers,
            budgets=budgets,
        )
        if self.group == "server":  # a group has one session anyway
            frontier.queue.share_sessions(self.domain_share)
        frontier.queue.addresses.limit(address_sessions)
        return frontier
