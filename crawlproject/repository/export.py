"""Exports the index as CSV or Parquet."""

from __future__ import annotations

import csv
from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Any

from crawlproject.repository.index import COLUMNS, INTEGERS, REALS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from crawlproject.repository.index import PageRow

#: Rows in memory at a time.
BATCH = 10_000
_FETCHED_AT = COLUMNS.index("fetched_at")


def iso(time: float) -> str:
    """Seconds since 1970 as ISO 8601, UTC, to the millisecond."""
    return datetime.fromtimestamp(time, UTC).isoformat(timespec="milliseconds")


def write_csv(rows: Iterable[PageRow], path: Path) -> int:
    """Write a header and a line per page; returns the number of pages. Raises OSError; O(rows)."""
    count = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        for row in rows:
            writer.writerow((*row[:_FETCHED_AT], iso(row.fetched_at), *row[_FETCHED_AT + 1 :]))
            count += 1
    return count


def write_parquet(rows: Iterable[PageRow], path: Path) -> int:
    """Write a row per page, with ``fetched_at`` as a timestamp; returns the number of pages. O(rows).

    Raises OSError, and ImportError without pyarrow.
    """
    import pyarrow
    from pyarrow import parquet

    schema = pyarrow.schema([(name, _type(name, pyarrow)) for name in COLUMNS])
    count = 0
    with path.open("wb") as file, parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        rest = iter(rows)
        while batch := list(islice(rest, BATCH)):
            columns: list[Any] = [list(values) for values in zip(*batch, strict=True)]
            columns[_FETCHED_AT] = [round(time * 1e6) for time in columns[_FETCHED_AT]]
            writer.write_table(pyarrow.table(columns, schema=schema))
            count += len(batch)
    return count


def _type(name: str, pyarrow: Any) -> Any:
    if name == "fetched_at":
        return pyarrow.timestamp("us", tz="UTC")
    if name in REALS:
        return pyarrow.float64()
    return pyarrow.int64() if name in INTEGERS else pyarrow.string()
