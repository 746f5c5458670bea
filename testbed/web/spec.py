"""The description of a web: every choice is a field of `WebSpec`, with unit and source."""

from __future__ import annotations

import ipaddress
import json
from dataclasses import asdict, dataclass, field, fields
from typing import Any, TypeVar

T = TypeVar("T")

LOOPBACK = ipaddress.ip_network("127.0.0.0/8")
QUALITIES = ("pagerank", "zipf")


def _option(default: T, text: str) -> T:
    """A field with its description, which is also the help text of the command line."""
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True)
class WebSpec:
    """A complete description of a web: the same spec always builds the same web.

    Shares are between 0 and 1 and are exact (rounded), not averages. Raises `ValueError` with field and value if a
    field is invalid.
    """

    servers: int = _option(50, "number of servers, each with its own address")
    pages: int = _option(3000, "number of pages on all servers together")
    seed: int = _option(1, "seed of all random choices")
    first_address: str = _option("127.1.0.1", "address of the first server; the others follow it")
    domain: str = _option(
        "", "servers have names, s0.DOMAIN and so on, which a name server must resolve; none: addresses"
    )
    port: int = _option(0, "port of all servers; 0 picks a free one")
    reachable: bool = _option(True, "add links until every page can be reached from the seeds")
    seed_count: int = _option(5, "number of home pages to start from")
    quality: str = _option("pagerank", "page quality: pagerank (damping .85) or zipf (a = 1, assigned at random)")

    size_exponent: float = _option(0.35, "server size ~ rank^-exponent; 0: equal sizes, .7: a few servers hold most")
    links_per_page: int = _option(15, "median number of links on a page")
    links_sigma: float = _option(0.5, "spread of the number of links (log-normal); 0: the same on every page")
    local_share: float = _option(0.75, "share of links that stay on their server")

    response_median: float = _option(0.1, "median response time in seconds")
    response_sigma_servers: float = _option(0.8, "spread of the response time between servers (log-normal)")
    response_sigma_pages: float = _option(0.8, "spread of the response time between the pages of a server")
    response_max: float = _option(30.0, "longest response time in seconds")
    connect_median: float = _option(0.09, "median cost of a new connection in seconds, served as delay")
    connect_sigma: float = _option(0.7, "spread of the connection cost between servers (log-normal)")
    time_scale: float = _option(1.0, "factor on response times and connection costs; 0: no delay at all")

    keep_alive_limit: int = _option(0, "requests per connection on every server; 0: as in Cao 2003")
    silent_close_share: float = _option(0.0, "share of servers that close at their limit without announcing it")
    idle_timeout: float = _option(15.0, "seconds after which an idle connection is closed")

    page_bytes: int = _option(0, "size of every page in bytes; 0: log-normal, 8 kB on average")
    gzip_share: float = _option(0.0, "share of servers that compress their pages for clients that accept gzip")

    robots_missing_share: float = _option(0.5, "share of servers without robots.txt, among those without rules")
    robots_disallow_share: float = _option(0.0, "share of servers whose robots.txt disallows /private/")
    crawl_delay_share: float = _option(0.0, "share of servers whose robots.txt gives a Crawl-delay")
    crawl_delay: float = _option(1.0, "the Crawl-delay in seconds")

    not_found_share: float = _option(0.0, "share of pages that answer 404")
    server_error_share: float = _option(0.0, "share of pages that answer 500")
    redirect_share: float = _option(0.0, "share of pages that redirect (301, 302), half of them to another server")
    throttled_share: float = _option(0.0, "share of servers that answer their first requests with 429")
    retry_after: int = _option(1, "seconds of the 429's Retry-After (on every second such server as a date)")
    dead_share: float = _option(0.0, "share of servers that do not listen")
    calendar_share: float = _option(0.0, "share of servers with a calendar that never ends")
    session_share: float = _option(0.0, "share of servers with session ids in their links, new on each visit")
    repeat_share: float = _option(0.0, "share of servers with links /a/b/a/b/... that never end")
    visit_share: float = _option(0.0, "share of servers with ids in their links under a name that is in no list")
    diary_share: float = _option(0.0, "share of servers with a calendar of months and days, by parameters")

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if each.name.endswith("_share"):
                self._require(each.name, 0 <= value <= 1, "between 0 and 1")
            elif isinstance(value, (int, float)):
                self._require(each.name, value >= 0, "0 or more")
        self._require("servers", self.servers >= 1, "1 or more")
        self._require("pages", self.pages >= self.servers, f"servers ({self.servers}) or more: each has a home page")
        self._require("seed_count", self.seed_count >= 1, "1 or more")
        self._require("port", self.port <= 65535, "a port number")
        self._require("quality", self.quality in QUALITIES, f"one of {', '.join(QUALITIES)}")
        self._require("dead_share", self.dead_share < 1, "below 1: a web has a live server")
        broken = self.not_found_share + self.server_error_share + self.redirect_share
        self._require("redirect_share", broken <= 0.9, "at most .9 together with the shares of 404 and 500")
        traps = self.calendar_share + self.session_share + self.repeat_share + self.visit_share + self.diary_share
        self._require("diary_share", traps <= 1, "at most 1 together with the other traps' shares")
        self._require("idle_timeout", self.idle_timeout > 0, "above 0")
        self._require_loopback()

    def _require(self, name: str, is_right: bool, wanted: str) -> None:
        """Raise `ValueError` with the field's name and value unless `is_right`."""
        if not is_right:
            raise ValueError(f"{name} = {getattr(self, name)!r}: must be {wanted}")

    def _require_loopback(self) -> None:
        """Raise `ValueError` if an address would be outside 127.0.0.0/8."""
        try:
            inside = ipaddress.ip_address(self.first_address) in LOOPBACK and self.address(self.servers) in LOOPBACK
        except ValueError:
            inside = False
        self._require("first_address", inside, f"the first of {self.servers} addresses inside {LOOPBACK}")

    def address(self, index: int) -> ipaddress.IPv4Address:
        """The loopback address of server `index`."""
        return ipaddress.IPv4Address(self.first_address) + index

    def to_json(self) -> str:
        """All fields as one line of JSON."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> WebSpec:
        """The spec in `text`; missing fields keep their defaults. Raises `ValueError` for other content."""
        values = json.loads(text)
        if not isinstance(values, dict):
            raise ValueError(f"--spec: a JSON object, not {text!r}")
        return cls.from_values(values)

    @classmethod
    def from_values(cls, values: dict[str, Any]) -> WebSpec:
        """The spec with these fields. Raises `ValueError` for an unknown field or a value of the wrong type."""
        defaults = {each.name: each.default for each in fields(cls)}
        for name, value in values.items():
            if name not in defaults:
                raise ValueError(f"unknown field of a spec: {name}")
            wanted = type(defaults[name])
            is_whole = isinstance(value, int) and not isinstance(value, bool) and wanted is float
            if type(value) is not wanted and not is_whole:
                raise ValueError(f"{name} = {value!r}: must be of type {wanted.__name__}")
        return cls(**values)
