"""The settings ``FRONTIER_REPOSITORY_*`` (docs/repository.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from crawlproject.options.extras import needs_extra
from crawlproject.options.values import Options, Reader, setting

if TYPE_CHECKING:
    from pathlib import Path


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
