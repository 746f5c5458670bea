"""The settings of one spider among several: what can hold for its domains does, the rest is refused."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, TypeVar

from scrapy.settings import SETTINGS_PRIORITIES, BaseSettings, SettingsAttribute, get_settings_priority
from w3lib.http import basic_auth_header

from crawlproject.options.values import Reader
from crawlproject.requests.meta import RENDER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from typing import Self

    from scrapy.settings import Settings

T = TypeVar("T")

#: Setting that switches something on -> the key of ``meta`` that switches it off for a request.
SWITCHES = {
    "COOKIES_ENABLED": "dont_merge_cookies",
    "ROBOTSTXT_OBEY": "dont_obey_robotstxt",
    "HTTPCACHE_ENABLED": "dont_cache",
    "RETRY_ENABLED": "dont_retry",
    "REDIRECT_ENABLED": "dont_redirect",
}

#: Setting -> the key of ``meta`` with the same meaning, and how its value is read.
VALUES: dict[str, tuple[str, Callable[[BaseSettings, str], Any]]] = {
    "RETRY_TIMES": ("max_retry_times", BaseSettings.getint),
    "DOWNLOAD_TIMEOUT": ("download_timeout", BaseSettings.getfloat),
    "DOWNLOAD_MAXSIZE": ("download_maxsize", BaseSettings.getint),
    "DOWNLOAD_WARNSIZE": ("download_warnsize", BaseSettings.getint),
    "DOWNLOAD_FAIL_ON_DATALOSS": ("download_fail_on_dataloss", BaseSettings.getbool),
    "HTTPERROR_ALLOWED_CODES": ("handle_httpstatus_list", lambda own, name: [int(code) for code in own.getlist(name)]),
    "HTTPERROR_ALLOW_ALL": ("handle_httpstatus_all", BaseSettings.getbool),
    "FRONTIER_RENDER": (RENDER, BaseSettings.get),
}

#: Setting -> what of a spider it limits, and the reason for its end.
LIMITS = {
    "CLOSESPIDER_PAGECOUNT": ("pages", "closespider_pagecount"),
    "FRONTIER_MAX_PAGES": ("pages", "closespider_pagecount"),
    "CLOSESPIDER_ITEMCOUNT": ("items", "closespider_itemcount"),
    "CLOSESPIDER_ERRORCOUNT": ("errors", "closespider_errorcount"),
    "CLOSESPIDER_TIMEOUT": ("seconds open", "closespider_timeout"),
}

_DELAY, _PER_DOMAIN, _AT_ONCE = "DOWNLOAD_DELAY", "CONCURRENT_REQUESTS_PER_DOMAIN", "CONCURRENT_REQUESTS"
_AGENT, _HEADERS = "USER_AGENT", "DEFAULT_REQUEST_HEADERS"
_DEPTH, _PIPELINES = "DEPTH_LIMIT", "ITEM_PIPELINES"
#: What of a spider a timer limits.
TIME = "seconds open"

#: All settings that can hold for a domain.
HELD = frozenset((*SWITCHES, *VALUES, *LIMITS, _DELAY, _PER_DOMAIN, _AT_ONCE, _AGENT, _HEADERS, _DEPTH, _PIPELINES))

#: Attribute of a spider -> the setting with the same meaning.
ATTRIBUTES = {
    "download_delay": _DELAY,
    "max_concurrent_requests": _PER_DOMAIN,
    "user_agent": _AGENT,
    "download_timeout": "DOWNLOAD_TIMEOUT",
    "download_maxsize": "DOWNLOAD_MAXSIZE",
    "download_warnsize": "DOWNLOAD_WARNSIZE",
    "handle_httpstatus_list": "HTTPERROR_ALLOWED_CODES",
    "handle_httpstatus_all": "HTTPERROR_ALLOW_ALL",
}

_OF_SPIDER = SETTINGS_PRIORITIES["spider"]


class OwnSettings(BaseSettings):
    """The settings of a crawl as one spider sees them: what its class sets, else what the crawl has, also later."""

    def __init__(self, crawl: BaseSettings) -> None:
        self._crawl = crawl
        super().__init__()

    def __getitem__(self, name: Any) -> Any:
        own = self.attributes.get(name)
        return self._crawl[name] if own is None or own.priority < self._crawl_priority(name) else own.value

    def __contains__(self, name: Any) -> bool:
        return name in self.attributes or name in self._crawl

    def __iter__(self) -> Iterator[Any]:
        return iter(dict.fromkeys([*self._crawl, *self.attributes]))

    def __len__(self) -> int:
        return len(self._crawl.keys() | self.attributes.keys())

    def set(self, name: Any, value: Any, priority: int | str = "project") -> None:
        if name in self.attributes:
            super().set(name, value, priority)
        else:
            self.attributes[name] = SettingsAttribute(value, get_settings_priority(priority))

    def getpriority(self, name: Any) -> int | None:
        own = self.attributes.get(name)
        return self._crawl.getpriority(name) if own is None else max(own.priority, self._crawl_priority(name))

    def _crawl_priority(self, name: Any) -> int:
        return self._crawl.getpriority(name) or 0


def changed(own: BaseSettings, crawl: BaseSettings) -> list[str]:
    """The settings that a spider's class has set, without those that cannot hold and are as they were. O(settings)."""
    names = own.attributes if isinstance(own, OwnSettings) else own
    return [
        name
        for name in names
        if (priority := own.getpriority(name) or 0) >= _OF_SPIDER
        and (own.get(name) != crawl.get(name) or (name in HELD and priority != crawl.getpriority(name)))
    ]


def check(name: str, names: Iterable[str]) -> None:
    """Raise ValueError if the spider ``name`` sets one that cannot hold for a domain."""
    wrong = sorted(set(names) - HELD)
    if wrong:
        raise ValueError(
            f"the spider {name} sets {', '.join(wrong)}, which cannot hold for one spider among several: "
            "set it for the crawl"
        )


@dataclass(frozen=True)
class DomainOptions:
    """What of one spider's settings holds for the requests to its domains, and for itself."""

    #: Of its requests, unless they say otherwise.
    meta: dict[str, Any]
    headers: dict[str, str]
    #: ``DOWNLOAD_SLOTS`` of its hosts.
    slot: dict[str, Any]
    #: Value in ``LIMITS`` -> count at which it ends, and the reason.
    limits: dict[str, tuple[float, str]]
    depth_limit: float
    #: Whether it has item pipelines of its own.
    has_pipelines: bool

    @classmethod
    def of(cls, spider: object, own: BaseSettings, names: Iterable[str]) -> Self:
        """Those of ``spider`` with the settings ``own``, of which it has changed ``names``. Raises ValueError."""
        of_attributes = {name: getattr(spider, attribute, None) for attribute, name in ATTRIBUTES.items()}
        said = {name: value for name, value in of_attributes.items() if value is not None}
        own = BaseSettings(said | {name: own.get(name) for name in names})
        names, reader = {*own}, Reader(own)
        limits: dict[str, tuple[float, str]] = {}
        for name in names & LIMITS.keys():
            what, reason = LIMITS[name]
            if limit := reader.number(name, 0):
                limits[what] = min(limit, limits.get(what, (inf, ""))[0]), reason
        headers = {_AGENT.title().replace("_", "-"): str(own.get(_AGENT))} if _AGENT in names else {}
        login = getattr(spider, "http_user", ""), getattr(spider, "http_pass", "")
        if any(login):
            _check_login(spider)
            headers["Authorization"] = basic_auth_header(*login).decode()
        if _HEADERS in names:
            headers |= {key: value for key, value in own.getdict(_HEADERS).items() if value is not None}
        return cls(
            meta={key: read(own, name) for name, (key, read) in VALUES.items() if name in names},
            headers=headers,
            slot=_slot(reader, names),
            limits=limits,
            depth_limit=reader.count(_DEPTH, 0) or inf if _DEPTH in names else inf,
            has_pipelines=_PIPELINES in names,
        )


def _check_login(spider: object) -> None:
    """Raise ValueError if the login is not for all domains of the spider: others must not see it."""
    of_login = getattr(spider, "http_auth_domain", None)
    if of_login is not None:
        domains = map(str, getattr(spider, "allowed_domains", ()))
        if not all(f".{domain}".endswith(f".{of_login}") for domain in domains):
            raise ValueError(f"http_auth_domain={of_login!r} does not cover all allowed_domains")


def _slot(reader: Reader, names: set[str]) -> dict[str, Any]:
    slot: dict[str, Any] = {"delay": reader.number(_DELAY, 0.0)} if _DELAY in names else {}
    at_once = [number for name in (_PER_DOMAIN, _AT_ONCE) if name in names and (number := reader.count(name, 0))]
    return slot | {"concurrency": min(at_once)} if at_once else slot


def switch(owned: Mapping[T, BaseSettings], crawl: Settings) -> dict[T | None, dict[str, Any]]:
    """Switch on for the crawl what a spider wants; returns ``meta`` that switches it off for each other one.

    The key None stands for pages of none of them.
    """
    off: dict[T | None, dict[str, Any]] = {None: {}}
    wanted = {owner: {name for name in SWITCHES if own.getbool(name)} for owner, own in owned.items()}
    for name in frozenset().union(*wanted.values()):
        if not crawl.getbool(name):
            crawl.set(name, True, priority="spider")
            off[None][SWITCHES[name]] = True
    for owner, wants in wanted.items():
        off[owner] = {key: True for name, key in SWITCHES.items() if crawl.getbool(name) and name not in wants}
    return off


def switched_off(own: BaseSettings, crawl: BaseSettings) -> dict[str, Any]:
    """What of ``meta`` switches off for a spider that comes later what the crawl has. Raises ValueError for what the
    crawl has not.
    """
    wanting = [name for name in SWITCHES if own.getbool(name) and not crawl.getbool(name)]
    if wanting:
        raise ValueError(f"{', '.join(wanting)}: cannot be switched on while the crawl runs")
    return {key: True for name, key in SWITCHES.items() if crawl.getbool(name) and not own.getbool(name)}
