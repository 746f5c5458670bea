"""The settings ``PROGRESS`` and ``REPORT_*`` (docs/watch.md, docs/watch.md)."""

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
    enabled = reader.switch("REPORT_ENABLED", True)
    return (directory or (job and job / REPORT_FOLDER)) if enabled else None


@dataclass(frozen=True)
class ReportOptions(Options):
    """Progress in the terminal, and the report.

    PROGRESS: the panel in the terminal: `auto` (if standard error is one), `on` or `off`
    REPORT_ENABLED: write the report, if there is a directory for it
    REPORT_DIR: directory of the report; default: `report` in `JOBDIR`
    """

    #: Whether the terminal shows the progress: ``auto``, ``on`` or ``off``.
    progress: str = setting(Reader.choice, "PROGRESS", "auto", ("auto", "on", "off"))
    #: Directory of the series and of the report; None: neither is written.
    report_directory: Path | None = setting(_directory)
