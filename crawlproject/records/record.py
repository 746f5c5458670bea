"""The item of a record, and records of other items: a dict with what identifies it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any
from unicodedata import normalize

_humps = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_other = re.compile(r"\W+")

#: Bytes of a name of a table or a column: PostgreSQL keeps 63.
MAX_NAME = 60


class Record(dict[str, Any]):
    """Fields of a record, as feeds write them: ``record`` (its kind), ``url`` (its page), and those of its rule."""

    __slots__ = ("keys_of", "meta", "place", "site")

    def __init__(self, values: dict[str, Any], *, site: str, keys_of: tuple[str, ...], place: int = 0) -> None:
        super().__init__(values)
        self.site = site
        #: Names of the fields that identify it; empty: its page and its place there.
        self.keys_of = keys_of
        #: Number among the records of its page.
        self.place = place
        #: Of the page's request: a record that cannot be kept keeps its page queued.
        self.meta: dict[str, Any] | None = None


@lru_cache(maxsize=4096)
def record_class(site: str, kind: str) -> type[Record]:
    """``Record``, named by site and kind: Spidermon counts the fields of each class of items."""
    return type(sql_name(f"{site}_{kind}"), (Record,), {"__slots__": ()})


@dataclass(slots=True)
class Row:
    """A record as the database gets it."""

    #: Name of its table.
    table: str
    site: str
    key: str
    #: Time of the page, UNIX seconds.
    seen: float
    values: dict[str, Any] = field(default_factory=dict)


def sql_name(name: str) -> str:
    """``ProductPage`` -> ``product_page``: a name for a table or a column, with letters of any script. O(length)."""
    lower = normalize("NFC", _humps.sub("_", name[: 4 * MAX_NAME]).lower())
    plain = cut_name(_other.sub("_", lower).strip("_"))
    return plain if plain[:1].isalpha() else cut_name(f"x_{plain}")


def cut_name(name: str, size: int = MAX_NAME) -> str:
    """The beginning of ``name``, at most ``size`` bytes."""
    return name.encode()[:size].decode(errors="ignore")
