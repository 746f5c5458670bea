"""The settings ``FRONTIER_RECORDS_*`` (docs/spiders.md) and ``FRONTIER_REPOSITORY_*`` (docs/repository.md)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from crawlproject.options.extras import needs_extra
from crawlproject.options.values import Options, Reader, setting

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Beginning of the address of a database -> the driver that is used.
DRIVERS = {
    "sqlite": "sqlite",
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
    "mysql": "mysql+pymysql",
    "mariadb": "mysql+pymysql",
}

_password = re.compile(r"(?<=:)[^:@/]*(?=@)")


def _database(reader: Reader) -> str | None:
    """The URL in ``FRONTIER_RECORDS_DB``, with the driver. Its password does not enter messages."""
    written = reader.value("FRONTIER_RECORDS_DB")
    if written is None or written == "":
        return None
    shown = _password.sub("***", str(written))
    scheme, separator, rest = str(written).partition("://")
    driver = DRIVERS.get(scheme.partition("+")[0])
    allowed = "must be sqlite:///FILE, or postgresql:// or mysql://USER@HOST/DATABASE"
    if not separator or driver is None:
        raise ValueError(f"FRONTIER_RECORDS_DB={shown!r}: {allowed}")
    with needs_extra(f"FRONTIER_RECORDS_DB={shown!r}", "records"):
        from sqlalchemy.engine import make_url
        from sqlalchemy.exc import ArgumentError

        if driver != "sqlite":
            import_module(driver.partition("+")[2])
    try:
        url = make_url(f"{driver}://{rest}")
    except (ArgumentError, ValueError) as error:
        raise ValueError(f"FRONTIER_RECORDS_DB={shown!r}: {error}") from error
    if driver == "sqlite" and not (url.database and Path(url.database).absolute().parent.is_dir()):
        raise ValueError(f"FRONTIER_RECORDS_DB={shown!r}: {allowed}, in a folder that exists")
    return url.render_as_string(hide_password=False)


def _journal(reader: Reader) -> Path | None:
    """By default the file beside an SQLite file; for a server in ``JOBDIR``, or in the working directory."""
    database, own, job = _database(reader), reader.path("FRONTIER_RECORDS_JOURNAL"), reader.path("JOBDIR")
    if database is None or own is not None:
        return None if database is None else own
    scheme, _, rest = database.partition("://")
    if scheme == "sqlite":
        return Path(f"{rest.removeprefix('/').partition('?')[0]}.pending")
    name = re.sub(r"[^A-Za-z0-9_-]", "_", rest.rpartition("/")[2].partition("?")[0])[:60] or "records"
    return (job or Path()) / f"{name}.pending"


def _pages(reader: Reader) -> tuple[str, ...]:
    pages = reader.strings("FRONTIER_RECORDS_PAGES", [])
    if pages:
        with needs_extra(f"FRONTIER_RECORDS_PAGES={','.join(pages)!r}", "pages"):
            import web_poet  # noqa: F401
    return pages


def _keys(reader: Reader) -> dict[str, tuple[str, ...]]:
    keys: dict[str, tuple[str, ...]] = {}
    for name, given in reader.dictionary("FRONTIER_RECORDS_KEYS").items():
        fields: Any = given.split(",") if isinstance(given, str) else given
        if not isinstance(fields, (list, tuple)) or not all(isinstance(one, str) and one.strip() for one in fields):
            raise reader.wrong("FRONTIER_RECORDS_KEYS", "a dict: class of an item -> a field, or a list of fields")
        keys[name] = tuple(one.strip() for one in fields)
    return keys


@dataclass(frozen=True)
class RecordOptions(Options):
    """The database of records, and the page objects that make them.

    FRONTIER_RECORDS_DB: database of the records: `sqlite:///FILE`, `postgresql://USER@HOST/DATABASE`, or
        `mysql://USER@HOST/DATABASE` (MySQL, MariaDB)
    FRONTIER_RECORDS_JOURNAL: file in which records wait for the database; default: beside the SQLite file, or in
        `JOBDIR`
    FRONTIER_RECORDS_KEYS: class of an item -> the field, or list of fields, that identifies one; default: `url`
    FRONTIER_RECORDS_PAGES: modules and packages with [page objects](spiders.md#page-objects)
    """

    #: SQLAlchemy's URL with its driver; None: no database.
    database: str | None = setting(_database)
    journal: Path | None = setting(_journal)
    #: Maximum time that the end of a crawl waits for an unavailable database, seconds.
    # A restart of PostgreSQL takes some seconds; the remaining rows are in the journal.
    patience: ClassVar[float] = 10.0
    keys: Mapping[str, tuple[str, ...]] = setting(_keys)
    pages: tuple[str, ...] = setting(_pages)


@dataclass(frozen=True)
class RepositorySettings(Options):
    """Directory and format in which pages are kept as received.

    FRONTIER_REPOSITORY_DIR: directory of WARC files with every page as received; default: nothing is kept
    FRONTIER_REPOSITORY_OPERATOR: name and address of the operator, written into each file
    """

    #: None: no page is kept.
    # Off: a crawl for items does not need it, and it takes the pages' size on disk.
    directory: Path | None = setting(Reader.path_in_job, "FRONTIER_REPOSITORY_DIR")
    #: A file is finished before it would become longer, bytes.
    # As archives do: files large enough to be few, small enough to be copied (WARC 1.1, annex C).
    file_size: ClassVar[int] = 1_000_000_000
    operator: str | None = setting(Reader.value, "FRONTIER_REPOSITORY_OPERATOR")

    @property
    def place(self) -> str:
        """The setting of the directory with its value, for errors."""
        return f"FRONTIER_REPOSITORY_DIR={str(self.directory)!r}"

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """See ``Options``. Imports the libraries of the extra only if a repository is wanted."""
        options = super().read(reader)
        if options.directory:
            with needs_extra(options.place, "repository"):
                import crawlproject.repository  # noqa: F401
        return options
