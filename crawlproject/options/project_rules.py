"""Rules of politeness that a project gives by Scrapy's settings instead of the frontier's rests; the add-on's name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.settings import SETTINGS_PRIORITIES
from scrapy.utils.misc import load_object

from crawlproject.compat import VERSION
from crawlproject.options.values import Reader

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

#: The add-on of this package, in ``ADDONS``, and the line of the settings that enables it.
ADDON = "crawlproject.addon.FrontierAddon"
ENABLED = f"ADDONS = {{{ADDON!r}: 300}}"

#: Larger than any number of concurrent requests: ``CONCURRENT_REQUESTS_PER_DOMAIN``, unless the project sets it.
NO_LIMIT = 1 << 30

_DELAY, _PER_DOMAIN = "DOWNLOAD_DELAY", "CONCURRENT_REQUESTS_PER_DOMAIN"
#: Scrapy's settings with rules, and the attributes of spiders that have the same meaning.
RULES = {_DELAY: "download_delay", _PER_DOMAIN: "max_concurrent_requests"}

#: Settings of the frontier's rests: with any of them the project has chosen these.
RESTS = ("FRONTIER_POLITENESS", "FRONTIER_DELAY_FACTOR", "FRONTIER_MIN_DELAY", "FRONTIER_MAX_DELAY")

_PROJECT = SETTINGS_PRIORITIES["project"]


def take_over_rules(settings: BaseSettings, spider: Any) -> str:
    """Give the frontier the rules that project and ``spider`` (or its class) set; returns which hold, in one line.

    From 2.19 on Scrapy sets settings from the attributes of a spider later.
    """
    said = [name for name in RULES if _is_said(settings, name)]
    said += [attribute for attribute in RULES.values() if getattr(spider, attribute, None) is not None]
    per_domain = getattr(spider, RULES[_PER_DOMAIN], None)
    if per_domain is not None and VERSION < (2, 19):  # later versions set it, and warn
        settings.set(_PER_DOMAIN, per_domain, priority="spider")
    throttles = settings.getbool("AUTOTHROTTLE_ENABLED")
    if throttles:
        said.append("AUTOTHROTTLE_ENABLED")
    rests = [name for name in RESTS if _is_said(settings, name)]
    if said and not rests:
        settings.set("FRONTIER_POLITENESS", "slots", priority="addon")
    if settings["FRONTIER_POLITENESS"] != "slots" and not _is_said(settings, _PER_DOMAIN):
        settings.set(_PER_DOMAIN, NO_LIMIT, priority="addon")  # the frontier's limit is per server
    delay = 0.0 if throttles else _delay(settings, spider)  # the extension delays requests in the downloader
    if delay > 0:
        settings.set("FRONTIER_REQUEST_DELAY", delay, priority="addon")
    if settings["FRONTIER_POLITENESS"] != "slots":
        return (
            "one request at a time to a server, which then rests (FRONTIER_DELAY_FACTOR). "
            "DOWNLOAD_DELAY or CONCURRENT_REQUESTS_PER_DOMAIN in your settings would replace the rests"
            if not rests
            else f"the frontier's rests, as {', '.join(rests)} says"
        )
    return (
        f"only what {', '.join(said or ['FRONTIER_POLITENESS'])} says, no rests. "
        "FRONTIER_POLITENESS = 'session' would give servers rests in proportion to their load"
    )


def _is_said(settings: BaseSettings, name: str) -> bool:
    return settings.get(name) is not None and (settings.getpriority(name) or 0) >= _PROJECT


def _delay(settings: BaseSettings, spider: Any) -> float:
    of_spider = getattr(spider, RULES[_DELAY], None)
    if of_spider is not None and (settings.getpriority(_DELAY) or 0) < SETTINGS_PRIORITIES["spider"]:
        return float(of_spider)
    return Reader(settings).number(_DELAY, 0.0)


def has_addon(settings: BaseSettings) -> bool:
    """Whether ``ADDONS`` has the add-on, or a subclass of it."""
    chosen = [addon for addon, order in settings.getdict("ADDONS").items() if order is not None]
    bases = {base for addon in chosen for base in load_object(addon).__mro__}
    return ADDON in {f"{base.__module__}.{base.__qualname__}" for base in bases}
