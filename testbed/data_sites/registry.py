"""Kinds of data, noted by the modules that have them: what a record says, and how the site is laid out."""

from __future__ import annotations

from typing import Any

from testbed.data_sites.layout import Layout, Record, build
from testbed.data_sites.site import Site, chance
from testbed.data_sites.templates import Kind, filling

_kinds: dict[str, tuple[str, Kind, Layout]] = {}


def data(site: str, varies: str, record: str | Kind, address: str, count: int, **layout: Any) -> None:
    """Note a kind of data: what varies, its record, and the fields of its layout."""
    assert site not in _kinds, site
    made = filling(record) if isinstance(record, str) else record
    _kinds[site] = varies, made, Layout(address, count, **layout)


def noted() -> dict[str, Site]:
    """The site of each kind noted so far."""
    return {
        site: build(site, varies, _drawing(site, record), layout) for site, (varies, record, layout) in _kinds.items()
    }


def record_of(site: str, template: str) -> Record:
    """The records that a template makes for a site."""
    return _drawing(site, filling(template))


def _drawing(site: str, record: Kind) -> Record:
    return lambda number: record(number, chance(site, number))
