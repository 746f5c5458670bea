"""Records in SQL tables, one for each kind of record; tables and columns are added when a record needs them.

SQLite and PostgreSQL by SQLAlchemy core; blocking, so it runs in the writer's thread.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.dialects import postgresql, sqlite

from crawlproject.records.kinds import Kind, as_kind, digest_of, kind_of, wider
from crawlproject.records.record import MAX_NAME, cut_name, sql_name

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crawlproject.records.record import Row

T = TypeVar("T")

logger = logging.getLogger(__name__)

#: Columns of every table, before those of the fields.
OWN_COLUMNS = ("site", "record_key", "first_seen", "last_seen", "changed", "digest")

#: Columns that every table of PostgreSQL has already.
_SYSTEM_COLUMNS = ("tableoid", "xmin", "cmin", "xmax", "cmax", "ctid")

#: Columns of a table, at most.
MAX_COLUMNS = 500

#: Seconds to wait for a connection, and for SQLite's lock; milliseconds for a statement of PostgreSQL.
CONNECT_TIMEOUT, STATEMENT_TIMEOUT = 5, 60_000

_TYPES: dict[Kind, sa.types.TypeEngine[Any]] = {
    Kind.BOOLEAN: sa.Boolean(),
    Kind.INTEGER: sa.BigInteger(),
    Kind.NUMBER: sa.Double(),
    Kind.DATE: sa.Date(),
    Kind.DATETIME: sa.DateTime(),
    Kind.JSON: sa.JSON(none_as_null=True).with_variant(postgresql.JSONB(none_as_null=True), "postgresql"),
    Kind.TEXT: sa.Text(),
}
#: Types as they are read from a database -> kinds; anything else is text.
_KINDS: tuple[tuple[type[sa.types.TypeEngine[Any]], Kind], ...] = (
    (sa.Boolean, Kind.BOOLEAN),
    (sa.Integer, Kind.INTEGER),
    (sa.Numeric, Kind.NUMBER),
    (sa.Float, Kind.NUMBER),  # since SQLAlchemy 2.1 no Numeric
    (sa.Date, Kind.DATE),
    (sa.DateTime, Kind.DATETIME),
    (sa.JSON, Kind.JSON),
)


#: Classes of SQLSTATE that concern one table: a function it lacks, data, constraints, names, permissions and types, a
#: view's condition, what its state does not allow, a trigger's error.
_TABLE_STATES = ("0A", "22", "23", "42", "44", "55000", "P0")
#: The same of SQLite, whose SQLITE_ERROR is for names, types and views.
_TABLE_ERRORS = ("SQLITE_ERROR", "SQLITE_CONSTRAINT", "SQLITE_MISMATCH", "SQLITE_AUTH", "SQLITE_RANGE", "SQLITE_TOOBIG")

#: If all rows of a batch are refused by constraints, and there are at least this many, the table is the cause.
_ALL_REFUSED = 10


class AwayError(Exception):
    """The database cannot be used now: not reachable, disk full, locked."""


class Database:
    """Raises AwayError from all methods.

    A table that refuses everything (no permission, another type, a constraint) is not tried again in this crawl.
    """

    def __init__(self, url: str) -> None:
        #: Tables that accept no rows, and why.
        self._closed: dict[str, str] = {}
        arguments: dict[str, Any] = {"timeout": CONNECT_TIMEOUT}
        if not url.startswith("sqlite"):
            arguments = {
                "connect_timeout": CONNECT_TIMEOUT,
                "tcp_user_timeout": 2_000 * CONNECT_TIMEOUT,
                "options": f"-c statement_timeout={STATEMENT_TIMEOUT}",
            }
        self._engine = sa.create_engine(url, connect_args=arguments, pool_size=1, max_overflow=1, pool_pre_ping=True)
        self._is_sqlite = self._engine.dialect.name == "sqlite"
        self._insert: Any = sqlite.insert if self._is_sqlite else postgresql.insert
        self._taken = OWN_COLUMNS if self._is_sqlite else OWN_COLUMNS + _SYSTEM_COLUMNS
        self._columns: dict[str, dict[str, Kind]] = {}
        #: Of the rows of the last ``_write``.
        self._refused_by_constraints = 0

    def write(self, rows: Iterable[Row]) -> list[tuple[Row, str]]:
        """Insert or update rows; returns those that the database refuses, with the reason.

        A row that is older than the stored one changes nothing, so that rows may be written repeatedly.
        """
        refused: list[tuple[Row, str]] = []
        by_table: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            by_table[row.table].append(row)
        for table, some in by_table.items():
            name = sql_name(table)
            if name not in self._closed:
                try:
                    refused += self._try(name, some)
                    continue
                except _TableError as error:
                    self._closed[name] = str(error)
                    logger.error("The table %s accepts no rows: %s", name, error)
            refused += [(row, self._closed[name]) for row in some]
        return refused

    def _try(self, name: str, rows: list[Row]) -> list[tuple[Row, str]]:
        """Write rows of one table. Raises AwayError and _TableError."""
        try:
            refused = self._write(name, rows)
        except exc.SQLAlchemyError:
            self._columns.pop(name, None)  # another process may have changed the table, or removed it
            try:
                refused = self._write(name, rows)
            except exc.SQLAlchemyError as error:
                raise (_TableError if _is_of_table(error) else AwayError)(_reason(error)) from error
        if len(rows) >= _ALL_REFUSED and self._refused_by_constraints >= len(rows):
            raise _TableError(refused[0][1])
        return refused

    def close(self) -> None:
        self._engine.dispose()

    def _write(self, name: str, rows: list[Row]) -> list[tuple[Row, str]]:
        fitting, refused = _named(rows, self._taken)
        self._refused_by_constraints = 0
        columns = self._fit(name, [values for _, values in fitting])
        table = sa.Table(
            name,
            sa.MetaData(),
            *_own_columns(),
            *(sa.Column(column, _TYPES[kind]) for column, kind in columns.items()),
        )
        return refused + self._upsert(table, columns, fitting)

    def _upsert(
        self, table: sa.Table, columns: dict[str, Kind], rows: list[tuple[Row, dict[str, Any]]]
    ) -> list[tuple[Row, str]]:
        """In one transaction; if a row is refused, in halves, so that it costs no other. O(rows + refused log rows)."""
        if not rows:
            return []
        insert = self._insert(table)
        updated = {name: insert.excluded[name] for name in ("last_seen", "digest", *columns)}
        has_changed = table.c.digest != insert.excluded.digest
        updated["changed"] = sa.case((has_changed, insert.excluded.last_seen), else_=table.c.changed)
        insert = insert.on_conflict_do_update(
            index_elements=["site", "record_key"],
            set_=updated,
            where=insert.excluded.last_seen >= table.c.last_seen,
        )
        try:
            bound = [_bound(row, values, columns) for row, values in rows]
            with self._engine.begin() as connection:
                connection.execute(insert, bound)
        except exc.DBAPIError as error:
            if not isinstance(error, (exc.DataError, exc.IntegrityError)) or error.connection_invalidated:
                raise
            return self._halves(table, columns, rows, error)
        except (
            exc.StatementError,
            ValueError,
            TypeError,
            OverflowError,
            RecursionError,
        ) as error:  # a value that cannot be sent
            return self._halves(table, columns, rows, error)
        return []

    def _halves(
        self, table: sa.Table, columns: dict[str, Kind], rows: list[tuple[Row, dict[str, Any]]], error: Exception
    ) -> list[tuple[Row, str]]:
        if len(rows) == 1:
            self._refused_by_constraints += isinstance(error, exc.IntegrityError)
            return [(rows[0][0], _reason(error))]
        middle = len(rows) // 2
        return self._upsert(table, columns, rows[:middle]) + self._upsert(table, columns, rows[middle:])

    def _fit(self, name: str, rows: list[dict[str, Any]]) -> dict[str, Kind]:
        """The columns of a table, after those are added or widened that ``rows`` need. O(values)."""
        columns = self._columns.get(name)
        if columns is None:
            columns = self._columns[name] = self._read_columns(name)
        needed: dict[str, Kind] = {}
        for values in rows:
            for column, value in values.items():
                kind = kind_of(value)
                known = needed.get(column) or columns.get(column)
                if kind is not None and known != kind:
                    needed[column] = kind if known is None else wider(known, kind)
        changed = {column: kind for column, kind in needed.items() if columns.get(column) != kind}
        if changed or not columns:
            with self._engine.begin() as connection:
                self._change(connection, name, columns, changed)
            columns.update(changed)
        return columns

    def _read_columns(self, name: str) -> dict[str, Kind]:
        found = sa.inspect(self._engine)
        if not found.has_table(name):
            return {}
        return {
            column["name"]: next((kind for type_, kind in _KINDS if isinstance(column["type"], type_)), Kind.TEXT)
            for column in found.get_columns(name)
            if column["name"] not in OWN_COLUMNS
        }

    def _change(self, connection: sa.Connection, name: str, columns: dict[str, Kind], new: dict[str, Kind]) -> None:
        quote = self._engine.dialect.identifier_preparer.quote_identifier
        sa.Table(name, sa.MetaData(), *_own_columns()).create(connection, checkfirst=True)
        for column, kind in new.items():
            type_ = _TYPES[kind].compile(self._engine.dialect)
            if column not in columns:
                connection.execute(sa.text(f"ALTER TABLE {quote(name)} ADD COLUMN {quote(column)} {type_}"))
            elif not self._is_sqlite:  # whose columns take any value
                change = f"ALTER COLUMN {quote(column)} TYPE {type_} USING {quote(column)}::{type_}"
                connection.execute(sa.text(f"ALTER TABLE {quote(name)} {change}".replace(":", r"\:")))


class _TableError(Exception):
    """A table accepts no rows; others may."""


def _is_of_table(error: exc.SQLAlchemyError) -> bool:
    """Whether an error concerns one table, rather than the database or the connection to it."""
    if isinstance(error, exc.DBAPIError) and error.connection_invalidated:
        return False
    said = getattr(error, "orig", None)
    if said is None:  # of SQLAlchemy itself: a table or a type that it cannot use
        return not isinstance(error, exc.TimeoutError)
    state, name = getattr(said, "sqlstate", None), getattr(said, "sqlite_errorname", None)
    return (state or "").startswith(_TABLE_STATES) or (name or "").startswith(_TABLE_ERRORS)


def _own_columns() -> list[sa.Column[Any]]:
    texts = [sa.Column(name, sa.Text(), primary_key=True) for name in OWN_COLUMNS[:2]]
    times = [sa.Column(name, sa.DateTime(), nullable=False) for name in OWN_COLUMNS[2:5]]
    return [*texts, *times, sa.Column("digest", sa.Text(), nullable=False)]


def _named(rows: list[Row], taken: tuple[str, ...]) -> tuple[list[tuple[Row, dict[str, Any]]], list[tuple[Row, str]]]:
    """Rows with the names of their columns, which are none of ``taken``, and those that are refused for their number.

    Of fields whose names become the same (``Name``, ``name``) the second one gets a number. O(fields).
    """
    fitting, refused = [], []
    for row in rows:
        values: dict[str, Any] = {}
        counts: Counter[str] = Counter()
        for name, value in row.values.items():
            column = sql_name(str(name))
            column = cut_name(f"field_{column}") if column in taken else column
            while column in values:
                counts[column] += 1
                number = f"_{counts[column] + 1}"
                column = f"{cut_name(column, MAX_NAME - len(number))}{number}"
            values[column] = value
        if len(values) > MAX_COLUMNS:
            refused.append((row, f"{len(values)} fields: at most {MAX_COLUMNS}"))
        else:
            fitting.append((row, values))
    return fitting, refused


def _bound(row: Row, values: dict[str, Any], columns: dict[str, Kind]) -> dict[str, Any]:
    seen = datetime.fromtimestamp(row.seen, UTC).replace(tzinfo=None)
    return {
        "site": row.site,
        "record_key": row.key,
        "first_seen": seen,
        "last_seen": seen,
        "changed": seen,
        "digest": digest_of(values),
        **{name: as_kind(values.get(name), kind) for name, kind in columns.items()},
    }


def _reason(error: Exception) -> str:
    said = str(getattr(error, "orig", None) or error).strip().splitlines()
    return (said[0] if said else type(error).__name__)[:300]
