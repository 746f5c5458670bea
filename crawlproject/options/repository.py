"""The settings ``REPOSITORY_*`` (docs/repository.md)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from crawlproject.options.extras import needs_extra
from crawlproject.options.values import Options, Reader, setting

if TYPE_CHECKING:
    from pathlib import Path


COMPRESSION_NAMES = ("gzip", "zstd")

_is_prefix = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*").fullmatch


def _prefix(reader: Reader) -> str | None:
    prefix: str | None = reader.value("REPOSITORY_PREFIX")
    if prefix is not None and not (isinstance(prefix, str) and _is_prefix(prefix)):
        raise reader.wrong("REPOSITORY_PREFIX", "letters, digits, '_', '.' and '-', no '.' or '-' first")
    return prefix


@dataclass(frozen=True)
class RepositorySettings(Options):
    """Directory and format in which pages are kept as received.

    REPOSITORY_DIR: directory of WARC files with every page as received; default: nothing is kept
    REPOSITORY_COMPRESSION: `gzip`, which every tool reads, or `zstd`
    REPOSITORY_FILE_SIZE: maximum size of a file, bytes
    REPOSITORY_PREFIX: prefix of the file names; default: the spider's name
    REPOSITORY_OPERATOR: name and address of the operator, written into each file
    """

    #: None: no page is kept.
    # Off: a crawl for items does not need it, and it takes the pages' size on disk.
    directory: Path | None = setting(Reader.path_in_job, "REPOSITORY_DIR")
    #: One of ``COMPRESSION_NAMES``.
    # Every tool reads gzip, and with ISA-L it is the faster one; zstd saves 2% of the space.
    compression: str = setting(Reader.choice, "REPOSITORY_COMPRESSION", "gzip", COMPRESSION_NAMES)
    #: A file is finished before it would become longer, bytes.
    # As archives do: files large enough to be few, small enough to be copied (WARC 1.1, annex C).
    file_size: int = setting(Reader.count, "REPOSITORY_FILE_SIZE", 1_000_000_000, least=1)
    #: Beginning of the names of files; None: the spider's name.
    prefix: str | None = setting(_prefix)
    #: Who crawls, with an address.
    operator: str | None = setting(Reader.value, "REPOSITORY_OPERATOR")

    @property
    def place(self) -> str:
        """The setting of the directory with its value, for errors."""
        return f"REPOSITORY_DIR={str(self.directory)!r}"

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """See ``Options``. Imports the libraries of the extra only if a repository is wanted."""
        options = super().read(reader)
        if options.directory:
            with needs_extra(options.place, "repository"):
                import crawlproject.repository  # noqa: F401
        return options
