"""The settings ``PROGRESS`` and ``REPORT_*`` (docs/progress.md, docs/report.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from crawlproject.options.values import Options, Reader

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class ReportOptions(Options):
    """Progress in the terminal, and the report."""

    #: Whether the terminal shows the progress: ``auto``, ``on`` or ``off``.
    progress: str
    #: Directory of the series and of the report; None: neither is written.
    report_directory: Path | None

    @classmethod
    def read(cls, reader: Reader) -> Self:
        enabled = reader.switch("REPORT_ENABLED", True)
        directory, job = reader.path("REPORT_DIR"), reader.path("JOBDIR")
        if directory is None and job is not None:
            directory = job / REPORT_FOLDER
        return cls(
            progress=reader.choice("PROGRESS", "auto", ("auto", "on", "off")),
            report_directory=directory if enabled else None,
        )


#: Folder of series and report in a ``JOBDIR``.
REPORT_FOLDER = "report"
