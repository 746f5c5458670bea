"""Where modules with kinds of data note them: a function per kind, and how its site is laid out."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from testbed.data_sites.layout import Layout, Record, build
from testbed.data_sites.site import Site, chance

#: Title and HTML of a record by its number and random numbers that are its own.
Kind = Callable[[int, Random], tuple[str, str]]

_kinds: dict[str, tuple[str, Kind, Layout]] = {}


def data(kind: str, address: str, count: int, **layout: Any) -> Callable[[Kind], Kind]:
    """Note a kind of data: what varies, and the fields of its layout; its site has the function's name."""

    def note(record: Kind) -> Kind:
        site = record.__name__.replace("_", "-")
        assert site not in _kinds, site
        _kinds[site] = kind, record, Layout(address, count, **layout)
        return record

    return note


def _drawing(site: str, kind: Kind) -> Record:
    return lambda number: kind(number, chance(site, number))


def noted() -> dict[str, Site]:
    """The site of each kind noted so far."""
    return {site: build(site, kind, _drawing(site, record), layout) for site, (kind, record, layout) in _kinds.items()}
