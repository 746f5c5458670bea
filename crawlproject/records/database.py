"""Records in SQL tables, one for each kind of record; tables and columns are added when a record needs them.

SQLite, PostgreSQL, MySQL and MariaDB by SQLAlchemy core; blocking, so it runs in the writer's thread.
"""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa
from sqlalchemy import exc
from sqlalchemy.dialects import mysql, postgresql, sqlite

from crawlproject.records.record import MAX_NAME, Kind, as_kind, cut_name, digest_of, kind_of, sql_name, wider

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crawlproject.records.record import Row

#: Columns of every table, before those of the fields.
OWN_COLUMNS = ("site", "record_key", "first_seen", "last_seen", "changed", "digest")

#: Columns that every table of PostgreSQL has already.
_SYSTEM_COLUMNS = ("tableoid", "xmin", "cmin", "xmax", "cmax", "ctid")

#: Columns of a table, at most.
MAX_COLUMNS = 500

#: Seconds to wait for a connection, and for SQLite's lock; milliseconds for a statement of PostgreSQL.
CONNECT_TIMEOUT, STATEMENT_TIMEOUT = 5, 60_000

_TEXT = sa.Text().with_variant(mysql.LONGTEXT(), "mysql")
_TIME = sa.DateTime().with_variant(mysql.DATETIME(fsp=6), "mysql")
#: Characters of the columns of a key, whose index takes 3,072 bytes in MySQL: a character has up to 4.
_OF_KEY = {"site": 300, "record_key": 400}

_TYPES: dict[Kind, sa.types.TypeEngine[Any]] = {
    Kind.BOOLEAN: sa.Boolean(),
    Kind.INTEGER: sa.BigInteger(),
    Kind.NUMBER: sa.Double(),
    Kind.DATE: sa.Date(),
    Kind.DATETIME: _TIME,
    Kind.JSON: sa.JSON(none_as_null=True).with_variant(postgresql.JSONB(none_as_null=True), "postgresql"),
    Kind.TEXT: _TEXT,
}
#: Types as they are read from a database -> kinds; anything else is text.
_KINDS: tuple[tuple[type[sa.types.TypeEngine[Any]], Kind], ...] = (
    (sa.Boolean, Kind.BOOLEAN),
    (mysql.TINYINT, Kind.BOOLEAN),
    (sa.Integer, Kind.INTEGER),
    (sa.Numeric, Kind.NUMBER),
    (sa.Float, Kind.NUMBER),  # since SQLAlchemy 2.1 no Numeric
    (sa.Date, Kind.DATE),
    (sa.DateTime, Kind.DATETIME),
    (sa.JSON, Kind.JSON),
)

#: Operational errors of MySQL that concern one row: values that a type does not take, partitions, triggers, checks.
_OF_ROW = frozenset((1292, 1416, 1526, 1644, 3819, 4025))
#: Those that concern one table: columns that are missing, generated, too many or too wide, permissions, views.
_OF_TABLE = frozenset((1054, 1117, 1118, 1142, 1143, 1288, 1347, 1348, 1356, 1364, 1442, 1471, 1906))
#: Both; of PostgreSQL what a view's state does not allow, of SQLite names, types and views.
_REFUSALS = frozenset(("55000", "SQLITE_ERROR")) | _OF_TABLE | _OF_ROW


class AwayError(Exception):
    """The database cannot be used now: not reachable, disk full, locked."""


class Database:
    """Raises AwayError from all methods."""

    def __init__(self, url: str) -> None:
        arguments: dict[str, Any] = {"timeout": CONNECT_TIMEOUT}
        if url.startswith("mysql"):
            arguments = {"connect_timeout": CONNECT_TIMEOUT, "read_timeout": STATEMENT_TIMEOUT // 1000}
            arguments |= {"charset": "utf8mb4", "init_command": "SET sql_mode = 'STRICT_ALL_TABLES'"}
        elif not url.startswith("sqlite"):
            arguments = {
                "connect_timeout": CONNECT_TIMEOUT,
                "tcp_user_timeout": 2_000 * CONNECT_TIMEOUT,
                "options": f"-c statement_timeout={STATEMENT_TIMEOUT}",
            }
        self._engine = sa.create_engine(url, connect_args=arguments, pool_size=1, max_overflow=1, pool_pre_ping=True)
        self._dialect = self._engine.dialect.name
        self._insert: Any = {"sqlite": sqlite, "mysql": mysql}.get(self._dialect, postgresql).insert
        self._taken = OWN_COLUMNS + _SYSTEM_COLUMNS if self._dialect == "postgresql" else OWN_COLUMNS
        self._columns: dict[str, dict[str, Kind]] = {}

    def write(self, rows: Iterable[Row]) -> list[tuple[Row, str]]:
        """Insert or update rows; returns those that the database refuses, with the reason.

        A row that is older than the stored one changes nothing, so that rows may be written repeatedly.
        """
        by_table: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            by_table[sql_name(row.table)].append(row)
        return [one for name, some in by_table.items() for one in self._try(name, some)]

    def _try(self, name: str, rows: list[Row]) -> list[tuple[Row, str]]:
        """Write rows of one table; all of them are refused if it accepts none, such as a view."""
        try:
            return self._write(name, rows)
        except exc.SQLAlchemyError:
            self._columns.pop(name, None)  # another process may have changed the table, or removed it
        try:
            return self._write(name, rows)
        except exc.SQLAlchemyError as error:
            if _is_away(error):
                raise AwayError(_reason(error)) from error
            return [(row, _reason(error)) for row in rows]

    def close(self) -> None:
        self._engine.dispose()

    def _write(self, name: str, rows: list[Row]) -> list[tuple[Row, str]]:
        fitting, refused = _named(rows, self._taken)
        columns = self._fit(name, [values for _, values in fitting])
        table = sa.Table(
            name, sa.MetaData(), *_own_columns(), *(sa.Column(column, _TYPES[kind]) for column, kind in columns.items())
        )
        return refused + self._upsert(table, columns, fitting)

    def _upsert(
        self, table: sa.Table, columns: dict[str, Kind], rows: list[tuple[Row, dict[str, Any]]]
    ) -> list[tuple[Row, str]]:
        """In one transaction; if a row is refused, in halves, so that it costs no other. O(rows + refused log rows)."""
        if not rows:
            return []
        insert = self._statement(table, columns)
        try:
            bound = [_bound(row, values, columns) for row, values in rows]
            with self._engine.begin() as connection:
                connection.execute(insert, bound)
        except (exc.StatementError, ValueError, TypeError, OverflowError, RecursionError) as error:
            if isinstance(error, exc.DBAPIError) and not _is_of_row(error):
                raise
            if len(rows) == 1:
                return [(rows[0][0], _reason(error))]
            middle = len(rows) // 2
            return self._upsert(table, columns, rows[:middle]) + self._upsert(table, columns, rows[middle:])
        return []

    def _statement(self, table: sa.Table, columns: dict[str, Kind]) -> Any:
        """Insert a row, or update the stored one if that is not newer."""
        insert = self._insert(table)
        new = insert.inserted if self._dialect == "mysql" else insert.excluded
        is_newer = new.last_seen >= table.c.last_seen
        updated = {"changed": sa.case((table.c.digest != new.digest, new.last_seen), else_=table.c.changed)}
        updated |= {name: new[name] for name in (*columns, "digest", "last_seen")}
        if self._dialect == "mysql":  # sets one after the other, and later ones see what was set
            each = [(name, sa.case((is_newer, value), else_=table.c[name])) for name, value in updated.items()]
            return insert.on_duplicate_key_update(each)
        return insert.on_conflict_do_update(index_elements=["site", "record_key"], set_=updated, where=is_newer)

    def _fit(self, name: str, rows: list[dict[str, Any]]) -> dict[str, Kind]:
        """The columns of a table, after those are added or widened that ``rows`` need. O(values)."""
        columns = self._columns.get(name)
        if columns is None:
            columns = self._columns[name] = self._read_columns(name)
        needed: dict[str, Kind] = {}
        for values in rows:
            for column, value in values.items():
                kind = kind_of(value)
                if kind is Kind.JSON and self._dialect == "mysql":  # MariaDB's JSON is text
                    kind = Kind.TEXT
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
        sa.Table(name, sa.MetaData(), *_own_columns(), **_OPTIONS).create(connection, checkfirst=True)
        for column, kind in new.items():
            type_ = _TYPES[kind].compile(self._engine.dialect)
            if column not in columns:
                connection.execute(sa.text(f"ALTER TABLE {quote(name)} ADD COLUMN {quote(column)} {type_}"))
            elif self._dialect == "mysql":
                connection.execute(sa.text(f"ALTER TABLE {quote(name)} MODIFY COLUMN {quote(column)} {type_}"))
            elif self._dialect != "sqlite":  # whose columns take any value
                change = f"ALTER COLUMN {quote(column)} TYPE {type_} USING {quote(column)}::{type_}"
                connection.execute(sa.text(f"ALTER TABLE {quote(name)} {change}".replace(":", r"\:")))


def _is_away(error: exc.SQLAlchemyError) -> bool:
    """Whether an error concerns the database or the connection to it, rather than one table."""
    if not isinstance(error, exc.DBAPIError):  # of SQLAlchemy itself
        return isinstance(error, exc.TimeoutError)
    is_operational = isinstance(error, (exc.OperationalError, exc.InterfaceError, exc.InternalError))
    return error.connection_invalidated or (is_operational and _REFUSALS.isdisjoint(_codes(error)))


def _is_of_row(error: exc.DBAPIError) -> bool:
    is_told = isinstance(error, (exc.DataError, exc.IntegrityError)) or not _OF_ROW.isdisjoint(_codes(error))
    return is_told and not error.connection_invalidated


def _codes(error: exc.DBAPIError) -> tuple[Any, ...]:
    """MySQL's number, PostgreSQL's state and SQLite's name of an error, as far as it has them."""
    said: Any = error.orig
    return *said.args[:1], getattr(said, "sqlstate", None), getattr(said, "sqlite_errorname", None)


def _own_columns() -> list[sa.Column[Any]]:
    texts = [
        sa.Column(name, sa.Text().with_variant(mysql.VARCHAR(length), "mysql"), primary_key=True)
        for name, length in _OF_KEY.items()
    ]
    times = [sa.Column(name, _TIME, nullable=False) for name in OWN_COLUMNS[2:5]]
    return [*texts, *times, sa.Column("digest", _TEXT, nullable=False)]


#: Of a table: letters of all languages, and equal only if they are the same.
_OPTIONS: dict[str, Any] = {"mysql_charset": "utf8mb4", "mysql_collate": "utf8mb4_bin", "mysql_row_format": "DYNAMIC"}


def _named(rows: list[Row], taken: tuple[str, ...]) -> tuple[list[tuple[Row, dict[str, Any]]], list[tuple[Row, str]]]:
    """Rows with the names of their columns, which are none of ``taken``, and those that are refused for their number.

    Of fields whose names become the same (``Name``, ``name``) the second one gets a number. O(MAX_COLUMNS^2).
    """
    fitting, refused = [], []
    for row in rows:
        if len(row.values) > MAX_COLUMNS:
            refused.append((row, f"{len(row.values)} fields: at most {MAX_COLUMNS}"))
            continue
        values: dict[str, Any] = {}
        for name, value in row.values.items():
            first = column = sql_name(str(name))
            if first in taken:
                first = column = cut_name(f"field_{first}")
            count = 1
            while column in values:
                count += 1
                column = f"{cut_name(first, MAX_NAME - len(str(count)) - 1)}_{count}"
            values[column] = value
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
