"""Feeds of records: one kind of record only, and Parquet."""

from __future__ import annotations

import json
import tempfile
from typing import TYPE_CHECKING, Any

from scrapy.exporters import BaseItemExporter
from scrapy.extensions.feedexport import ItemFilter

from crawlproject.compat import serialized_fields
from crawlproject.options.extras import needs_extra
from crawlproject.records.kinds import Kind, as_kind, from_json, kind_of, to_json, wider
from crawlproject.requests.owners import current

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

#: Rows of a row group.
_ROWS = 10_000


class OfKind(ItemFilter):
    """``FEEDS = {FILE: {"item_filter": "crawlproject.records.feeds.OfKind", "records": ["book"]}}``."""

    option = "records"

    def __init__(self, feed_options: dict[str, Any] | None) -> None:
        super().__init__(feed_options)
        given = (feed_options or {}).get(self.option, ())
        self._names = frozenset([given] if isinstance(given, str) else given)

    def accepts(self, item: Any) -> bool:
        return isinstance(item, dict) and item.get("record") in self._names


class OfSpider(OfKind):
    """The same with ``"spiders": ["shop"]``: items of these, of several in one crawl."""

    option = "spiders"

    def accepts(self, item: Any) -> bool:
        owner = current.get()
        return owner is not None and owner.name in self._names


class ParquetExporter(BaseItemExporter):
    """Format ``parquet``: a column for each field, of the type that holds all its values; lists and tables as JSON.

    Items are spooled to a temporary file, because a Parquet file begins with the types of its columns.
    """

    def __init__(self, file: BinaryIO, **kwargs: Any) -> None:
        super().__init__(dont_fail=True, **kwargs)
        with needs_extra("a feed of format 'parquet'", "parquet"):
            import pyarrow.parquet  # noqa: F401
        self._file = file
        self._spool = tempfile.TemporaryFile(mode="w+", encoding="utf-8", errors="surrogatepass")  # noqa: SIM115
        self._kinds: dict[str, Kind | None] = {}

    def export_item(self, item: Any) -> None:
        values = dict(serialized_fields(self)(item, include_empty=True))
        for name, value in values.items():
            kind, known = kind_of(value), self._kinds.setdefault(name, None)
            if kind is not None and kind != known:
                self._kinds[name] = kind if known is None else wider(known, kind)
        self._spool.write(json.dumps(values, default=to_json) + "\n")

    def finish_exporting(self) -> None:
        import pyarrow as pa
        from pyarrow import parquet

        types = {
            Kind.BOOLEAN: pa.bool_(),
            Kind.INTEGER: pa.int64(),
            Kind.NUMBER: pa.float64(),
            Kind.DATE: pa.date32(),
            Kind.DATETIME: pa.timestamp("us"),
        }
        kinds = {name: kind or Kind.TEXT for name, kind in self._kinds.items()}
        schema = pa.schema([(name, types.get(kind, pa.string())) for name, kind in kinds.items()])
        with parquet.ParquetWriter(self._file, schema) as writer:
            for rows in self._batches():
                columns = {name: [_cell(row.get(name), kind) for row in rows] for name, kind in kinds.items()}
                writer.write_table(pa.table(columns, schema=schema))
        self._spool.close()

    def _batches(self) -> Iterator[list[dict[str, Any]]]:
        self._spool.seek(0)
        rows: list[dict[str, Any]] = []
        for line in self._spool:
            rows.append(json.loads(line, object_hook=from_json))
            if len(rows) == _ROWS:
                yield rows
                rows = []
        if rows:
            yield rows


def _cell(value: Any, kind: Kind) -> Any:
    value = as_kind(value, Kind.TEXT if kind == Kind.JSON else kind)
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value
