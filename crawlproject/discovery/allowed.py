"""The domains that a spider allows, however they are written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlproject.urls.link_filter import is_domain

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from scrapy import Spider

#: A domain without servers (RFC 2606).
_NO_DOMAIN = "invalid"


def allowed_entries(spider: Spider | None) -> tuple[str, Sequence[Any]]:
    """The attribute of a spider that names the allowed domains, and its entries without None, as written."""
    names = ("allowed", "allowed_domains") if is_ours(spider) else ("allowed_domains",)
    name = next((name for name in names if getattr(spider, name, None)), names[-1])
    return name, [entry for entry in getattr(spider, name, None) or () if entry is not None]


def is_ours(spider: Spider | None) -> bool:
    """Whether it is a spider of this package, or derived from one."""
    return hasattr(spider, "known_arguments")


def readable_domains(entries: Iterable[Any]) -> frozenset[str]:
    """The valid ``entries``. No URL belongs to the others, as in Scrapy: if there are no valid ones, to none."""
    given = list(entries)
    return frozenset(filter(is_domain, given)) or frozenset(given and [_NO_DOMAIN])
