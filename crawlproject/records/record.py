"""The item of a record, its row in a database, and the kinds of its values: which a value has, which one holds two."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from decimal import Decimal
from enum import StrEnum
from functools import lru_cache
from hashlib import blake2b
from math import isfinite
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


class Kind(StrEnum):
    BOOLEAN = "boolean"
    INTEGER = "integer"
    NUMBER = "number"
    DATE = "date"
    DATETIME = "datetime"
    JSON = "json"
    TEXT = "text"


#: A datetime is a date.
_KINDS: tuple[tuple[type | tuple[type, ...], Kind], ...] = (
    (bool, Kind.BOOLEAN),
    ((float, Decimal), Kind.NUMBER),
    (datetime, Kind.DATETIME),
    (date, Kind.DATE),
    ((dict, list, tuple), Kind.JSON),
)
_WIDER = {frozenset((Kind.INTEGER, Kind.NUMBER)): Kind.NUMBER, frozenset((Kind.DATE, Kind.DATETIME)): Kind.DATETIME}

#: Whole numbers beyond are written as text: databases have 64 bits.
MAX_INTEGER = 2**63 - 1


def kind_of(value: Any) -> Kind | None:
    """The narrowest kind for a value; None for None, infinity and NaN."""
    if value is None or (isinstance(value, float) and not isfinite(value)):
        return None
    if isinstance(value, int) and not isinstance(value, bool):
        return Kind.INTEGER if abs(value) <= MAX_INTEGER else Kind.TEXT
    return next((kind for types, kind in _KINDS if isinstance(value, types)), Kind.TEXT)


def wider(one: Kind, other: Kind) -> Kind:
    """The kind of a column for values of both: text if there is no other."""
    return one if one == other else _WIDER.get(frozenset((one, other)), Kind.TEXT)


def as_kind(value: Any, kind: Kind) -> Any:
    """``value`` for a column of ``kind``, which is its own or wider. Moments with a zone become UTC."""
    own = kind_of(value)
    if own is None:
        return None
    if kind == Kind.TEXT:
        return value if isinstance(value, str) else _text(value)
    if kind == Kind.NUMBER:
        return float(value)
    if kind == Kind.DATETIME:
        if not isinstance(value, datetime):
            return datetime.combine(value, time())
        return value.astimezone(UTC).replace(tzinfo=None) if value.tzinfo else value
    return json.loads(_text(value)) if kind == Kind.JSON else value


def _text(value: Any) -> str:
    if isinstance(value, (bool, dict, list, tuple)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return value.isoformat() if isinstance(value, date) else str(value)


def digest_of(values: dict[str, Any]) -> str:
    """Equal for equal values; those that are None do not count."""
    given = {name: value for name, value in values.items() if value is not None}
    text = json.dumps(given, sort_keys=True, default=str)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def with_text_keys(value: Any) -> Any:
    """``value`` with keys that JSON can have and sort: tuples, or texts beside numbers, become texts. O(size)."""
    if isinstance(value, dict):
        return {str(key): with_text_keys(each) for key, each in value.items()}
    return [with_text_keys(each) for each in value] if isinstance(value, (list, tuple)) else value


def to_json(value: Any) -> Any:
    """For ``json.dumps(..., default=to_json)``: what JSON lacks; ``from_json`` reads it back."""
    if isinstance(value, datetime):
        return {"$datetime": value.isoformat()}
    if isinstance(value, date):
        return {"$date": value.isoformat()}
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, (set, frozenset)):
        return sorted(map(str, value))
    return str(value)


def from_json(pairs: dict[str, Any]) -> Any:
    """For ``json.loads(..., object_hook=from_json)``; a page's own object that only looks like ours stays one."""
    if len(pairs) == 1:
        with suppress(ValueError):
            if isinstance(moment := pairs.get("$datetime"), str):
                return datetime.fromisoformat(moment)
            if isinstance(day := pairs.get("$date"), str):
                return date.fromisoformat(day)
    return pairs
