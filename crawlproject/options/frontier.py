"""Every setting of the frontier: read here and nowhere else, checked once, passed on as values.

docs/settings.md lists them; each default's reason stands beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from scrapy.utils.misc import load_object

from crawlproject.frontier import POLICIES, Policy, Politeness
from crawlproject.frontier.politeness import PARKING_TIME, Mode
from crawlproject.frontier.quality import QUALITIES, Quality, ScoredQuality
from crawlproject.options.values import SettingValues
from crawlproject.urls import domain_of_server

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.settings import BaseSettings

PolitenessGroup = Literal["server", "domain", "ip"]

#: Backends there are, by name.
BACKENDS = ("memory", "disk")

DEFAULTS: dict[str, Any] = {
    # Most quality over time on every web tried, known or learned (docs/results.md).
    "FRONTIER_POLICY": "prefix",
    # Connections open at once: the paper's number; a home connection and a small machine can take it.
    "FRONTIER_MAX_SESSIONS": 64,
    # Idle connections besides. Worth much where each request is followed by a wait of seconds, next to nothing after
    # the bursts that are the default (docs/results.md); and not everybody counts on more sockets than sessions.
    "FRONTIER_MAX_PARKED": 0,
    # Most requests of one session, where the server sets no limit itself: what most servers allow (Cao 2003, figure 3).
    "FRONTIER_MAX_BATCH": 100,
    # On disk where there is a directory to keep it in, else in memory.
    "FRONTIER_BACKEND": None,
    "FRONTIER_DIR": None,
    # What a crash costs: pages of at most so many seconds are fetched again. One fsync each.
    "FRONTIER_COMMIT_INTERVAL": 1.0,
    # Nothing is fetched twice unless it is asked for.
    "FRONTIER_RECRAWL_AGE": None,
    # Bursts on one connection and a rest in proportion: the same average load as waiting after each request,
    # without the cost of a new connection for each.
    "FRONTIER_POLITENESS": "session",
    "FRONTIER_POLITENESS_GROUP": "server",
    # Heritrix waits 5 x, Mercator 10 x the last fetch.  With 5 a server gives us at most a sixth of the time of one
    # of its connections, and a site of 1,000 pages of 0.1 s is done in about 10 minutes.
    "FRONTIER_DELAY_FACTOR": 5.0,
    "FRONTIER_MIN_DELAY": 0.5,
    "FRONTIER_MAX_DELAY": 60.0,
    # 18% of real robots.txt files have a Crawl-delay, most often 10 s; some ask for hours.
    "FRONTIER_MAX_CRAWL_DELAY": 300.0,
    # Failing servers and 429/503: 5, 10, 20, ... seconds, at most 5 minutes, given up after 10 in a row (20 minutes).
    "FRONTIER_MIN_BACKOFF": 5.0,
    "FRONTIER_MAX_BACKOFF": 300.0,
    "FRONTIER_MAX_FAILURES": 10,
    # A dead server costs a place for as long as it is waited for; a live one connects in 0.2 s at the 90th percentile.
    "FRONTIER_CONNECT_TIMEOUT": 10.0,
    # Best of what can be learned on the way, over synthetic webs and a real one (docs/results.md); for requests
    # that a spider yields one by one it is the same for all, so that Scrapy's priority orders them.
    "FRONTIER_QUALITY": "in-links",
    "FRONTIER_QUALITY_FILE": None,
    # What was met elsewhere is worth nothing the second time, and a server that showed copies will show more.
    "FRONTIER_COPIES_PENALTY": True,
}


@dataclass(frozen=True)
class FrontierOptions:
    """The settings ``FRONTIER_*`` and what of Scrapy's own bears on the frontier, checked."""

    policy: type[Policy]
    quality: Quality
    politeness: Politeness
    group: PolitenessGroup
    max_sessions: int
    max_parked: int
    max_batch: int
    max_failures: int
    connect_timeout: float
    #: Whether copies count against a server's rank.
    copies_penalty: bool
    #: ``memory`` or ``disk``.
    backend: str
    #: Where it lives on disk.
    directory: Path | None
    commit_interval: float
    #: Pages fetched so many seconds ago or earlier are fetched again; None: no page is.
    recrawl_age: float | None

    @property
    def group_of(self) -> Callable[[str], str] | None:
        """Server key -> politeness group; None where every server is one of its own, or addresses are looked up."""
        return domain_of_server if self.group == "domain" else None

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> FrontierOptions:
        """Read and check; raises ValueError naming setting, value and choices."""
        reader = _Reader(settings)
        directory = reader.directory()
        max_parked = reader.count("FRONTIER_MAX_PARKED", least=0)
        politeness = Politeness(
            mode=cast("Mode", reader.choice("FRONTIER_POLITENESS", get_args(Mode))),
            factor=reader.number("FRONTIER_DELAY_FACTOR"),
            min_delay=reader.number("FRONTIER_MIN_DELAY"),
            max_delay=reader.number("FRONTIER_MAX_DELAY"),
            request_delay=reader.number("FRONTIER_REQUEST_DELAY"),
            host_delays=reader.host_delays(),
            min_backoff=reader.number("FRONTIER_MIN_BACKOFF"),
            max_backoff=reader.number("FRONTIER_MAX_BACKOFF"),
            max_crawl_delay=reader.number("FRONTIER_MAX_CRAWL_DELAY"),
            parking_time=PARKING_TIME if max_parked else 0.0,
        )
        reader.ordered("FRONTIER_MIN_DELAY", "FRONTIER_MAX_DELAY")
        reader.ordered("FRONTIER_MIN_BACKOFF", "FRONTIER_MAX_BACKOFF")
        return cls(
            policy=reader.policy(),
            quality=reader.quality(),
            politeness=politeness,
            group=cast("PolitenessGroup", reader.choice("FRONTIER_POLITENESS_GROUP", get_args(PolitenessGroup))),
            max_sessions=reader.count("FRONTIER_MAX_SESSIONS", least=1),
            max_parked=max_parked,
            max_batch=reader.count("FRONTIER_MAX_BATCH", least=1),
            max_failures=reader.count("FRONTIER_MAX_FAILURES", least=0),
            connect_timeout=reader.number("FRONTIER_CONNECT_TIMEOUT"),
            copies_penalty=reader.switch("FRONTIER_COPIES_PENALTY"),
            backend=reader.backend(directory),
            directory=directory,
            commit_interval=reader.number("FRONTIER_COMMIT_INTERVAL"),
            recrawl_age=reader.age("FRONTIER_RECRAWL_AGE"),
        )


class _Reader(SettingValues):
    """What besides single values the frontier's settings are."""

    def __init__(self, settings: BaseSettings) -> None:
        super().__init__(settings, DEFAULTS)

    def directory(self) -> Path | None:
        """``FRONTIER_DIR``, else a directory in ``JOBDIR``."""
        own, job = self.value("FRONTIER_DIR"), self._settings.get("JOBDIR")
        if own:
            return Path(own)
        return Path(job, "frontier") if job else None

    def backend(self, directory: Path | None) -> str:
        if self.value("FRONTIER_BACKEND") is None:
            return "memory" if directory is None else "disk"
        backend = self.choice("FRONTIER_BACKEND", BACKENDS)
        if backend == "disk" and directory is None:
            raise ValueError("FRONTIER_BACKEND='disk': FRONTIER_DIR or JOBDIR must name a directory")
        return backend

    def host_delays(self) -> dict[str, float]:
        """The delays that ``DOWNLOAD_SLOTS`` gives to hosts (or to slots named in ``meta``, which are no hosts)."""
        delays = {}
        for host, slot in self._settings.getdict("DOWNLOAD_SLOTS").items():
            if "delay" in slot:
                values = SettingValues(cast("BaseSettings", slot), {})
                try:
                    delays[str(host)] = values.number("delay")
                except ValueError as error:
                    raise ValueError(f"DOWNLOAD_SLOTS[{host!r}]: {error}") from error
        return delays

    def _load(self, name: str, choices: tuple[str, ...]) -> Any:
        """The class that a setting names by its path."""
        value = self.value(name)
        hint = f"{name}={value!r}: must be one of {', '.join(choices)}, or the path of a class"
        if isinstance(value, str) and "." not in value:
            raise ValueError(hint)
        try:
            return load_object(value)
        except (ImportError, NameError, AttributeError, SyntaxError, ValueError, TypeError) as error:
            raise ValueError(f"{hint} ({error})") from error

    @staticmethod
    def _made(name: str, loaded: Any) -> Any:
        """An instance of the class that a setting names."""
        try:
            return loaded()
        except TypeError as error:
            raise ValueError(f"{name}={loaded!r}: must be a class that takes no arguments ({error})") from error

    def policy(self) -> type[Policy]:
        value = self.value("FRONTIER_POLICY")
        if isinstance(value, str) and value in POLICIES:
            return POLICIES[value]
        loaded = self._load("FRONTIER_POLICY", tuple(POLICIES))
        if not callable(getattr(loaded, "rank", None)) or not hasattr(loaded, "by_quality"):
            raise ValueError(f"FRONTIER_POLICY={value!r}: the class must have by_quality and rank(server)")
        self._made("FRONTIER_POLICY", loaded)
        return cast("type[Policy]", loaded)

    def quality(self) -> Quality:
        value = self.value("FRONTIER_QUALITY")
        if isinstance(value, str) and value in QUALITIES:
            return QUALITIES[value]()
        if value == "scores":
            return self._scores()
        loaded = self._load("FRONTIER_QUALITY", (*QUALITIES, "scores"))
        if not callable(getattr(loaded, "quality", None)):
            raise ValueError(f"FRONTIER_QUALITY={value!r}: the class must have quality(url, depth)")
        return cast("Quality", self._made("FRONTIER_QUALITY", loaded))

    def _scores(self) -> ScoredQuality:
        path = self.value("FRONTIER_QUALITY_FILE")
        if not path:
            raise ValueError("FRONTIER_QUALITY='scores': FRONTIER_QUALITY_FILE must name a file of URL<TAB>score lines")
        try:
            with Path(path).open(encoding="utf-8") as lines:
                return ScoredQuality.from_lines(lines)
        except (OSError, UnicodeDecodeError, ValueError) as error:
            raise ValueError(f"FRONTIER_QUALITY_FILE={path!r}: {error}") from error
