"""The settings ``REPOSITORY_*`` (docs/repository.md)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from crawlproject.options.extras import needs_extra
from crawlproject.options.values import Options, Reader

if TYPE_CHECKING:
    from pathlib import Path


COMPRESSION_NAMES = ("gzip", "zstd")

_is_prefix = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*").fullmatch


@dataclass(frozen=True)
class RepositorySettings(Options):
    """Directory and format in which pages are kept as received."""

    #: None: no page is kept.
    directory: Path | None
    #: One of ``COMPRESSION_NAMES``.
    compression: str
    #: A file is finished before it would become longer, bytes.
    file_size: int
    #: Beginning of the names of files; None: the spider's name.
    prefix: str | None
    #: Who crawls, with an address.
    operator: str | None

    @property
    def place(self) -> str:
        """The setting of the directory with its value, for errors."""
        return f"REPOSITORY_DIR={str(self.directory)!r}"

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """See ``Options``. Imports the libraries of the extra only if a repository is wanted."""
        prefix = reader.value("REPOSITORY_PREFIX")
        if prefix is not None and not (isinstance(prefix, str) and _is_prefix(prefix)):
            raise reader.wrong("REPOSITORY_PREFIX", "letters, digits, '_', '.' and '-', no '.' or '-' first")
        # Off: a crawl for items does not need it, and it takes the pages' size on disk.
        directory = reader.path_in_job("REPOSITORY_DIR")
        options = cls(
            directory=directory,
            # Every tool reads gzip, and with ISA-L it is the faster one; zstd saves 2% of the space.
            compression=reader.choice("REPOSITORY_COMPRESSION", "gzip", COMPRESSION_NAMES),
            # As archives do: files large enough to be few, small enough to be copied (WARC 1.1, annex C).
            file_size=reader.count("REPOSITORY_FILE_SIZE", 1_000_000_000, least=1),
            prefix=prefix,
            operator=reader.value("REPOSITORY_OPERATOR"),
        )
        if directory:
            with needs_extra(options.place, "repository"):
                import crawlproject.repository  # noqa: F401
        return options
