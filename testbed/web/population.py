"""The servers of a web: addresses, sizes, speed, connections and special behaviour, drawn from a spec."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from .spec import WebSpec

PRIVATE = "/private/"
SESSION_FORMS = (";jsessionid=", "?PHPSESSID=", "?sid=")
VISIT_FORM = "?visit="
SLOW_SMALL_SHARE = 0.2  # share of the servers, the slowest, that get the smallest sizes
#: Shares of the servers with 1 and with 100 requests per connection (Cao 2003); the rest: 2 to 50.
SINGLE_SHARE, HUNDRED_SHARE = 0.24, 0.66


@dataclass(frozen=True)
class Server:
    """The properties of one server; times in seconds."""

    index: int
    address: str
    first_page: int
    """Number of its home page; its other pages have the next numbers."""
    page_count: int
    response_time: float
    """Median time of a response, already scaled."""
    connect_cost: float
    """Added to the first response of each connection, because a loopback handshake cannot be slowed down."""
    keep_alive_limit: int
    """Requests that one connection may carry."""
    closes_silently: bool
    has_private: bool
    """Its robots.txt disallows /private/."""
    robots: str | None
    """Text of its robots.txt; None: it answers 404."""
    crawl_delay: float
    """0: none."""
    is_dead: bool
    throttle: str
    """The form of Retry-After: 'seconds', 'date', or '' for a server that never answers 429."""
    trap: str
    """'calendar', 'diary', 'session', 'visit', 'repeat' or ''."""
    compresses: bool
    """Its pages are compressed for clients that accept gzip."""
    session_form: str
    """How a session id is attached to its links, if its trap is 'session' or 'visit'."""

    @property
    def page_range(self) -> range:
        """The numbers of its pages."""
        return range(self.first_page, self.first_page + self.page_count)


def draw_servers(spec: WebSpec) -> tuple[Server, ...]:
    """All servers of the web; each special behaviour from its own random stream. O(servers log servers)."""
    everyone = range(spec.servers)
    speeds = Random(f"{spec.seed}/speeds")
    medians = [speeds.lognormvariate(0, spec.response_sigma_servers) for _ in everyone]
    costs = [speeds.lognormvariate(0, spec.connect_sigma) for _ in everyone]
    sizes, limits, traps = _assign_sizes(spec, medians), _draw_limits(spec), _draw_traps(spec)
    firsts = [0, *accumulate(sizes)]
    silent = _choose(spec, "silent", everyone, spec.silent_close_share)
    private = _choose(spec, "private", everyone, spec.robots_disallow_share)
    delayed = _choose(spec, "delayed", everyone, spec.crawl_delay_share)
    without_robots = _choose(spec, "robots", sorted({*everyone} - private - delayed), spec.robots_missing_share)
    mortal = everyone[min(spec.seed_count, spec.servers - 1) :]
    dead = _choose(spec, "dead", mortal, spec.dead_share * spec.servers / max(1, len(mortal)))
    compressing = _choose(spec, "gzip", everyone, spec.gzip_share)
    throttled = {i: rank for rank, i in enumerate(sorted(_choose(spec, "throttled", everyone, spec.throttled_share)))}
    return tuple(
        Server(
            index=i,
            address=str(spec.address(i)),
            first_page=firsts[i],
            page_count=sizes[i],
            response_time=min(spec.response_max, spec.response_median * medians[i]) * spec.time_scale,
            connect_cost=spec.connect_median * costs[i] * spec.time_scale,
            keep_alive_limit=limits[i],
            closes_silently=i in silent,
            has_private=i in private,
            robots=None if i in without_robots else _robots_text(spec, is_private=i in private, delays=i in delayed),
            crawl_delay=spec.crawl_delay if i in delayed else 0.0,
            is_dead=i in dead,
            throttle=("seconds", "date")[throttled[i] % 2] if i in throttled else "",
            trap=traps.get(i, ""),
            compresses=i in compressing,
            session_form=VISIT_FORM if traps.get(i) == "visit" else SESSION_FORMS[i % len(SESSION_FORMS)],
        )
        for i in everyone
    )


def _sizes(servers: int, pages: int, exponent: float) -> list[int]:
    """Pages per server, descending: one each, the rest in proportion to rank^-exponent; they sum to `pages`."""
    weights = list(accumulate((rank + 1) ** -exponent for rank in range(servers)))
    bounds = [0, *(round((pages - servers) * weight / weights[-1]) for weight in weights)]
    return [1 + bounds[i + 1] - bounds[i] for i in range(servers)]


def _assign_sizes(spec: WebSpec, medians: list[float]) -> list[int]:
    """Sizes by server: the slowest servers get the smallest, the others random ones."""
    sizes = _sizes(spec.servers, spec.pages, spec.size_exponent)
    slow = round(SLOW_SMALL_SHARE * spec.servers)
    by_speed = sorted(range(spec.servers), key=medians.__getitem__)
    rest = sizes[: spec.servers - slow]
    Random(f"{spec.seed}/sizes").shuffle(rest)
    assigned = dict(zip(by_speed, rest + sizes[spec.servers - slow :], strict=True))
    return [assigned[i] for i in range(spec.servers)]


def _draw_limits(spec: WebSpec) -> list[int]:
    """Requests per connection by server."""
    if spec.keep_alive_limit:
        return [spec.keep_alive_limit] * spec.servers
    rng = Random(f"{spec.seed}/limits")
    single = round(SINGLE_SHARE * spec.servers)
    hundred = min(round(HUNDRED_SHARE * spec.servers), spec.servers - single)
    others = spec.servers - single - hundred
    limits = [1] * single + [100] * hundred + [rng.randint(2, 50) for _ in range(others)]
    rng.shuffle(limits)
    return limits


def _choose(spec: WebSpec, stream: str, candidates: Iterable[int], share: float) -> frozenset[int]:
    """Exactly this share (rounded) of the candidates."""
    pool = list(candidates)
    count = min(len(pool), round(share * len(pool)))
    return frozenset(Random(f"{spec.seed}/{stream}").sample(pool, count))


def _draw_traps(spec: WebSpec) -> dict[int, str]:
    """Server -> its trap; no server has two."""
    order = list(range(spec.servers))
    Random(f"{spec.seed}/traps").shuffle(order)
    kinds_of_traps = ("calendar", "session", "repeat", "visit", "diary")
    shares = {kind: getattr(spec, f"{kind}_share") for kind in kinds_of_traps}
    kinds = [kind for kind, share in shares.items() for _ in range(round(share * spec.servers))]
    return dict(zip(order, kinds, strict=False))


def _robots_text(spec: WebSpec, *, is_private: bool, delays: bool) -> str:
    """A server's robots.txt."""
    delay = f"Crawl-delay: {spec.crawl_delay:g}\n" if delays else ""
    return f"User-agent: *\nDisallow: {PRIVATE if is_private else ''}\n{delay}"
