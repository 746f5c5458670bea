"""The settings of one spider among several: what can hold for its domains does, the rest is refused."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

from scrapy.settings import SETTINGS_PRIORITIES

from crawlproject.options.values import Reader
from crawlproject.requests.meta import RENDER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from scrapy.settings import Settings

    from crawlproject.requests.owners import Owner

#: Setting that switches something on -> the key of ``meta`` that switches it off for a request.
SWITCHES = {
    "COOKIES_ENABLED": "dont_merge_cookies",
    "ROBOTSTXT_OBEY": "dont_obey_robotstxt",
    "HTTPCACHE_ENABLED": "dont_cache",
    "RETRY_ENABLED": "dont_retry",
    "REDIRECT_ENABLED": "dont_redirect",
}

#: Setting -> the key of ``meta`` with the same meaning, and how its value is read.
VALUES: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "RETRY_TIMES": ("max_retry_times", int),
    "DOWNLOAD_TIMEOUT": ("download_timeout", float),
    "DOWNLOAD_MAXSIZE": ("download_maxsize", int),
    "DOWNLOAD_WARNSIZE": ("download_warnsize", int),
    "DOWNLOAD_FAIL_ON_DATALOSS": ("download_fail_on_dataloss", bool),
    "HTTPERROR_ALLOWED_CODES": ("handle_httpstatus_list", lambda codes: list(map(int, codes))),
    "HTTPERROR_ALLOW_ALL": ("handle_httpstatus_all", bool),
    "FRONTIER_RENDER": (RENDER, str),
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
#: What of a spider is limited by a timer.
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


def changed(own: Settings, crawl: Settings) -> list[str]:
    """The settings that a spider's class has changed. O(settings)."""
    return [
        name
        for name in own
        if (own.getpriority(name) or 0) >= _OF_SPIDER
        and (own.get(name) != crawl.get(name) or own.getpriority(name) != crawl.getpriority(name))
    ]


def check(name: str, names: Iterable[str]) -> None:
    """Raise ValueError if the spider ``name`` sets one that cannot hold for a domain."""
    wrong = sorted(set(names) - HELD)
    if wrong:
        raise ValueError(
            f"the spider {name} sets {', '.join(wrong)}, which cannot hold for one spider among several: "
            "set it for the crawl"
        )


def apply(owner: Owner, own: Settings, names: Iterable[str], crawl: Settings) -> None:
    """Give ``owner`` what its settings ``own`` say; ``names``: those that it has changed. Raises ValueError."""
    reader, spider = Reader(own), owner.spider
    for attribute, name in ATTRIBUTES.items():
        if (value := getattr(spider, attribute, None)) is not None and name not in names:
            own.set(name, value, priority="spider")
            names = [*names, name]
    for name in names:
        if name in VALUES:
            key, read = VALUES[name]
            owner.meta[key] = read(own.getlist(name) if isinstance(own.get(name), list | tuple) else own.get(name))
        elif name in LIMITS:
            what, reason = LIMITS[name]
            limit = min(reader.number(name, 0) or inf, owner.limits.get(what, (inf, ""))[0])
            owner.limits[what] = limit, reason
    owner.depth_limit = reader.count(_DEPTH, 0) or inf if _DEPTH in names else inf
    owner.has_pipelines = _PIPELINES in names
    if _AGENT in names:
        owner.headers["User-Agent"] = str(own.get(_AGENT))
    if _HEADERS in names:
        owner.headers.update({key: value for key, value in own.getdict(_HEADERS).items() if value is not None})
    pace: dict[str, Any] = {}
    if _DELAY in names:
        pace["delay"] = reader.number(_DELAY, 0.0)
    at_once = [number for name in (_PER_DOMAIN, _AT_ONCE) if name in names and (number := reader.count(name, 0))]
    if at_once:
        pace["concurrency"] = min(at_once)
    if pace:
        slots = crawl.getdict("DOWNLOAD_SLOTS")
        crawl.set("DOWNLOAD_SLOTS", {**dict.fromkeys(owner.domains, pace), **slots}, priority="spider")


def apply_switches(owned: Mapping[Owner, Settings], crawl: Settings) -> dict[str, Any]:
    """Switch on for the crawl what a spider wants, and off for all others; returns ``meta`` of pages of none."""
    others: dict[str, Any] = {}
    for name, key in SWITCHES.items():
        wanted = {owner: own.getbool(name) for owner, own in owned.items()}
        if any(wanted.values()) and not crawl.getbool(name):
            crawl.set(name, True, priority="spider")
            others[key] = True
        for owner, wants in wanted.items():
            if not wants and crawl.getbool(name):
                owner.meta[key] = True
    return others
