"""Records in SQLite and PostgreSQL: tables, upserts, refused rows, databases that are away."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.engine import make_url

from crawlproject.records.database import AwayError, Database
from crawlproject.records.journal import Journal
from crawlproject.records.pipeline import Writer
from crawlproject.records.record import Row, sql_name
from testbed.mariadb_server import RunningMariadb
from testbed.postgres_server import RunningPostgres

Query = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture(params=["sqlite", "postgresql", pytest.param("mariadb", marks=pytest.mark.long)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Database, Query]]:
    """Empty, with a function that asks it."""
    if request.param == "sqlite":
        path = tmp_path / "records.db"
        made = Database(f"sqlite:///{path}")

        def ask(statement: str) -> list[tuple[Any, ...]]:
            with closing(sqlite3.connect(path)) as connection, connection:
                return connection.execute(statement).fetchall()

        yield made, ask
        made.close()
        return
    if request.param == "mariadb":
        running: RunningMariadb = request.getfixturevalue("mariadb")
        for name, kind in running.query("SELECT table_name, table_type FROM information_schema.tables "
                                        "WHERE table_schema = 'crawl'"):  # fmt: skip
            running.query(f'DROP {"VIEW" if kind == "VIEW" else "TABLE"} "{name}"')
        made = Database(running.url.replace("mysql", "mysql+pymysql"))
        yield made, running.query
        made.close()
        return
    server: RunningPostgres = request.getfixturevalue("postgres")
    for (view,) in server.query("SELECT viewname FROM pg_views WHERE schemaname = 'public'"):
        server.query(f'DROP VIEW "{view}"')
    for (table,) in server.query("SELECT tablename FROM pg_tables WHERE schemaname = 'public'"):
        server.query(f'DROP TABLE "{table}"')
    made = Database(server.url.replace("postgresql", "postgresql+psycopg"))
    yield made, server.query
    made.close()


def row(key: str, seen: float = 1e9, table: str = "book", site: str = "shop", **values: Any) -> Row:
    return Row(table, site, key, seen, values)


def test_tables_are_made_and_widened(database: tuple[Database, Query]) -> None:
    """A column for each field; a value that does not fit widens its column, what is there stays."""
    books, ask = database
    assert books.write([row("1", pages=3, title="One", sold=True, on=date(2024, 1, 2), more=["a", {"b": 1}])]) == []
    assert ask("SELECT pages, title FROM book") == [(3, "One")]
    assert books.write([row("2", pages=3.5, title=7, weight=1), row("3", pages="many", sold="perhaps")]) == []
    assert books.write([row("4", pages=5, on=datetime(2024, 1, 2, 3, tzinfo=UTC))]) == []
    found = ask("SELECT record_key, pages, title, weight FROM book ORDER BY record_key")
    assert [(key, float(pages) if key in "124" else pages) for key, pages, _, _ in found] == [
        ("1", 3.0),
        ("2", 3.5),
        ("3", "many"),
        ("4", 5.0),
    ]
    assert [(title, weight) for _, _, title, weight in found] == [("One", None), ("7", 1), (None, None), (None, None)]


def test_next_crawl_widens_the_columns_of_this_one(database: tuple[Database, Query]) -> None:
    """Columns of all kinds are recognised when another process reads them from the database."""
    books, ask = database
    first = {"n": 1, "x": 1.5, "b": True, "d": date(2024, 1, 2), "t": datetime(2024, 1, 2, 3), "j": [1]}
    assert books.write([row("1", **first)]) == []
    later = Database(books._engine.url.render_as_string(hide_password=False))
    assert later.write([row("2", n=2.5, x=2, b=False, d=datetime(2024, 1, 2, 4), t=date(2024, 1, 3), j={})]) == []
    assert later.write([row("3", **dict.fromkeys(first, "text"))]) == []
    later.close()
    last = Database(books._engine.url.render_as_string(hide_password=False))
    assert last.write([row("4", **first)]) == []
    last.close()
    found = dict(ask("SELECT record_key, n || ' ' || x || ' ' || j FROM book"))
    assert found["3"] == "text text text"
    assert found["2"].startswith("2.5 2")


def test_records_are_updated_by_key(database: tuple[Database, Query]) -> None:
    """``first_seen`` stays, ``last_seen`` moves, ``changed`` moves only with the values; older rows change nothing."""
    books, ask = database
    times = "SELECT price, first_seen, last_seen, changed FROM book"
    for price, seen in ((1, 100.0), (1, 200.0), (2, 300.0), (1, 200.0), (2, 300.0)):
        assert books.write([row("k", seen, price=price)]) == []
    ((price, *moments),) = ask(times)
    stamps = [datetime.fromisoformat(str(moment)).replace(tzinfo=UTC).timestamp() for moment in moments]
    assert (price, stamps) == (2, [100.0, 300.0, 300.0])
    books.write([row("k", 400.0, price=2)])
    ((_, _, last, changed),) = ask(times)
    assert str(changed) < str(last)
    books.write([row("k", 100.0, site="other", price=9), row("k", 500.0), row("k", 600.0, price=5)])
    assert sorted(price for price, *_ in ask(times)) == [5, 9]


def test_refused_row_costs_no_other(database: tuple[Database, Query]) -> None:
    """Wherever it stands in a batch."""
    books, ask = database
    rows = [row(str(number), text="fine") for number in range(50)]
    rows[7] = row("bad", text="half a character: \ud800")
    rows[31] = row("wide", **{f"f{number}": 1 for number in range(600)})
    refused = books.write(rows)
    assert sorted(one.key for one, _ in refused) == ["bad", "wide"]
    assert all(reason and "\n" not in reason for _, reason in refused)
    assert ask("SELECT count(*) FROM book") == [(48,)]


def test_names_of_strangers_have_their_columns(database: tuple[Database, Query]) -> None:
    """Quotes, reserved words, any script, names that differ only in what columns cannot have, those that are taken."""
    books, ask = database
    values: dict[str, Any] = {'a"; DROP TABLE x; --': 1, "select": 2, "Site": 3, "a:b": 4, "1": 5, "digest": 6}
    values |= {"价格": 7, "标题" * 40: 8, "Name": 9, "name": 10, "NAME": 11, "name_2": 12, "xmax": 13, "\ud800": 14}
    for key in "kl":
        assert books.write([Row("商品 List", "s", key, 1.0, values)]) == []
    xmax = "field_xmax" if "postgresql" in str(books._engine.url) else "xmax"
    names = f'a_drop_table_x, "select", field_site, a_b, x_1, field_digest, "价格", "{"标题" * 10}", name, name_2'
    assert ask(f'SELECT {names}, name_3, name_2_2, {xmax}, x_ FROM "商品_list"') == [tuple(range(1, 15))] * 2
    assert sql_name("ProductPage") == "product_page"


def test_large_numbers_and_none(database: tuple[Database, Query]) -> None:
    """What is missing is NULL in all columns, not the JSON value ``null``."""
    books, ask = database
    assert books.write([row("1", a=10**30, b=float("nan"), c=None, more=["a"]), row("2", a=1, b=1.5, more=None)]) == []
    assert books.write([row("3")]) == []
    assert ask("SELECT a, b FROM book ORDER BY record_key") == [(str(10**30), None), ("1", 1.5), (None, None)]
    assert sorted(ask("SELECT record_key FROM book WHERE more IS NULL")) == [("2",), ("3",)]


def test_changes_of_other_processes_are_noticed(database: tuple[Database, Query]) -> None:
    """A table that is gone, a column that another process has added."""
    books, ask = database
    other = Database(books._engine.url.render_as_string(hide_password=False))
    books.write([row("1", a=1)])
    other.write([row("2", a=1, b=2)])
    assert books.write([row("3", a="text", b=2)]) == []
    assert other.write([row("4", a=4)]) == []
    assert len(ask("SELECT a, b FROM book")) == 4
    other.close()


def broken(ask: Query, kind: str) -> None:
    """Make a table of that name that takes no record."""
    statements = {
        "view": ["CREATE VIEW broken AS SELECT 1 AS site"],
        "column": ["CREATE TABLE broken (a integer)"],
        "constraint": [
            "CREATE TABLE broken (site varchar(99), record_key varchar(99), first_seen timestamp, last_seen"
            " timestamp NULL, changed timestamp NULL, digest text, own text NOT NULL, PRIMARY KEY (site, record_key))"
        ],
    }
    for statement in statements[kind]:
        ask(statement)


@pytest.mark.parametrize("kind", ["view", "column", "constraint"])
def test_table_that_takes_nothing_stops_no_other(database: tuple[Database, Query], kind: str) -> None:
    """All of its rows are refused, with what it says."""
    books, ask = database
    broken(ask, kind)
    rows = [one for key in map(str, range(12)) for one in (row(key, a=1), row(key, table="broken", a=1))]
    refused = books.write(rows)
    assert all(one.table == "broken" for one, _ in refused)
    refused += books.write([row("x", table="broken"), row("x")])
    assert [one.key for one, _ in refused] == [*map(str, range(12)), "x"]
    assert all(reason for _, reason in refused)
    assert ask("SELECT count(*) FROM book") == [(13,)]


OWN = "site varchar(99), record_key varchar(99), first_seen datetime, last_seen datetime, changed datetime, digest text"


@pytest.mark.long
@pytest.mark.parametrize("column", ["at timestamp NULL", "at time", "at int CHECK (at > 2)", "trigger"])
def test_value_that_mariadb_refuses_costs_no_other_row(mariadb: RunningMariadb, column: str) -> None:
    """A table that a user made: its types, checks and triggers."""
    mariadb.query("DROP TABLE IF EXISTS made")
    of_column = "at int" if column == "trigger" else column
    mariadb.query(f"CREATE TABLE made ({of_column}, {OWN}, PRIMARY KEY (site, record_key))")
    if column == "trigger":
        mariadb.query("CREATE TRIGGER no BEFORE INSERT ON made FOR EACH ROW IF new.at = 2 THEN SIGNAL SQLSTATE '45000';"
                      " END IF")  # fmt: skip
    bad = {"at timestamp NULL": datetime(3000, 1, 1, tzinfo=UTC), "at time": "x"}.get(column, 2)
    books = Database(mariadb.url.replace("mysql", "mysql+pymysql"))
    refused = books.write([row("1", table="made"), row("2", table="made", at=bad), row("3", table="made")])
    assert [one.key for one, _ in refused] == ["2"]
    assert mariadb.query("SELECT count(*) FROM made") == [(2,)]
    books.close()


def test_refused_rows_wait_for_the_next_crawl(database: tuple[Database, Query], tmp_path: Path) -> None:
    """In a file; what may be written is."""
    books, ask = database
    broken(ask, "constraint")
    address = books._engine.url.render_as_string(hide_password=False)
    counts: Counter[str] = Counter()

    def crawl(rows: list[Row]) -> None:
        journal, aside = Journal(tmp_path / "j"), Journal(tmp_path / "j.aside")
        journal.append(rows)
        writer = Writer(Database(address), journal, aside, lambda name, number: counts.update({name: number}), 0.1)
        writer.start()
        assert writer.close()
        journal.close()
        aside.close()

    crawl([row("1", table="broken", a=1), row("2", table="broken", a=2), row("1")])
    assert (tmp_path / "j.aside").read_bytes().count(b"\n") == 2
    assert counts == {"records/db/written": 1, "records/db/failed": 2}
    ask("DROP TABLE broken")
    crawl([])
    assert ask("SELECT a FROM broken ORDER BY a") == [(1,), (2,)]
    assert not (tmp_path / "j.aside").exists()


def test_missing_permission_is_of_one_table(postgres: RunningPostgres) -> None:
    for statement in (
        "DROP TABLE IF EXISTS secret, open",
        "DROP ROLE IF EXISTS guest",
        "CREATE ROLE guest LOGIN",
        "GRANT CREATE ON SCHEMA public TO guest",
        "CREATE TABLE secret (a integer)",
    ):
        postgres.query(statement)
    address = postgres.url.replace("postgresql", "postgresql+psycopg")
    books = Database(address.replace(make_url(address).username or "", "guest", 1))
    refused = books.write([row("1", table="secret"), row("1", table="open"), row("2", table="secret")])
    assert [one.table for one, _ in refused] == ["secret", "secret"]
    assert postgres.query("SELECT count(*) FROM open") == [(1,)]
    books.close()


def test_database_that_is_away(postgres: RunningPostgres, tmp_path: Path) -> None:
    """Stopped, then back; a folder that is gone; a disk that is full."""
    books = Database(postgres.url.replace("postgresql", "postgresql+psycopg"))
    postgres.query("DROP TABLE IF EXISTS away")
    books.write([row("1", table="away")])
    postgres.stop()
    with pytest.raises(AwayError):
        books.write([row("2", table="away")])
    postgres.start()
    assert books.write([row("2", table="away")]) == []
    assert postgres.query("SELECT count(*) FROM away") == [(2,)]
    books.close()
    with pytest.raises(AwayError):
        Database(f"sqlite:///{tmp_path}/gone/x.db").write([row("1")])
    full = Database(f"sqlite:///{tmp_path}/full.db")
    full.write([row("1", text="x")])
    with full._engine.begin() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 10")
    with pytest.raises(AwayError, match="full"):
        full.write([row("2", text="x" * 1_000_000)])
    full.close()
