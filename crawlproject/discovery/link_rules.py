"""Which links are followed, by the settings and by the domains that a spider allows, however they are written."""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crawlproject.options.following import LinkOptions
from crawlproject.options.limits import LimitOptions
from crawlproject.urls.link_filter import LinkFilter, is_domain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scrapy import Spider
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)


def allowed_entries(spider: Spider | None) -> tuple[str, Sequence[Any]]:
    """The attribute of a spider that names the allowed domains, and its entries without None, as written."""
    names = ("allowed", "allowed_domains") if _is_ours(spider) else ("allowed_domains",)
    name = next((name for name in names if getattr(spider, name, None)), names[-1])
    return name, [entry for entry in getattr(spider, name, None) or () if entry is not None]


def _is_ours(spider: Spider | None) -> bool:
    """Whether it is a spider of this package, or derived from one."""
    return hasattr(spider, "known_arguments")


def readable_domains(entries: Iterable[Any]) -> frozenset[str]:
    """The valid ``entries``. No URL belongs to the others, as in Scrapy: if there are no valid ones, to none."""
    given = list(entries)
    return frozenset(filter(is_domain, given)) or frozenset(given and ["invalid"])  # has no servers (RFC 2606)


def link_filter(crawler: Crawler) -> LinkFilter:
    """The link filter by ``LinkOptions``, ``FRONTIER_DENY_FILE``, ``URLLENGTH_LIMIT`` and the spider's ``allowed``
    (domains, optionally with ports) or ``allowed_domains``; of a project's own spider only ``allowed_domains``.

    Raises ValueError, not for what a project's own spider has.
    """
    links = LinkOptions.of(crawler)
    rules = LinkFilter(
        denied=LimitOptions.of(crawler).denied,
        include=links.include,
        exclude=links.exclude,
        extensions=links.skip_extensions,
    )
    if links.max_length:
        rules = replace(rules, max_length=links.max_length)
    name, entries = allowed_entries(crawler.spider)
    if not _is_ours(crawler.spider):
        bad = [entry for entry in entries if not is_domain(entry)]
        if bad:
            logger.warning("allowed_domains: no URL belongs to %s: not a domain", ", ".join(map(repr, bad))[:200])
        return replace(rules, allowed=readable_domains(entries))
    try:
        return replace(rules, allowed=frozenset(entries))
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
