"""Spiders by their names."""

from __future__ import annotations

from scrapy.exceptions import UsageError


def unknown_spider(name: str, names: list[str]) -> UsageError:
    """The error for a name that is none of ``names``."""
    from crawlproject.options.all_settings import closest

    meant = closest(name, names)
    hint = f"did you mean {meant}?" if meant else f"known spiders: {', '.join(sorted(names)) or 'none'}"
    return UsageError(f"no spider {name!r}; {hint}", print_help=False)
