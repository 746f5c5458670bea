"""The settings ``PROGRESS`` and ``REPORT_*`` (docs/progress.md, docs/report.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from crawlproject.options.values import Options, Reader, setting

if TYPE_CHECKING:
    from pathlib import Path

#: Folder of series and report in a ``JOBDIR``.
REPORT_FOLDER = "report"


def _directory(reader: Reader) -> Path | None:
    directory, job = reader.path("REPORT_DIR"), reader.path("JOBDIR")
    return directory or (job and job / REPORT_FOLDER)


@dataclass(frozen=True)
class ReportOptions(Options):
    """Progress in the terminal, and the report."""

    #: Whether the terminal shows the progress: ``auto``, ``on`` or ``off``.
    progress: str = setting(Reader.choice, "PROGRESS", "auto", ("auto", "on", "off"))
    #: Directory of the series and of the report; None: neither is written.
    report_directory: Path | None = setting(_directory)
