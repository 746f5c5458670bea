"""Makes the report of a crawl from its series and snapshot, and writes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crawlproject.monitor.report.joint import Worker, joint_series, joint_snapshot, worker_directories, worker_facts
from crawlproject.monitor.report.page import page
from crawlproject.monitor.series.samples import FILE_NAME, Series, read_series
from crawlproject.monitor.series.snapshot_file import FILE_NAME as SNAPSHOT_NAME
from crawlproject.monitor.series.snapshot_file import read_snapshot
from crawlproject.storage.errors import plain_message
from crawlproject.storage.replacing import replace_file

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

REPORT_NAME = "report.html"


@dataclass(frozen=True)
class Made:
    """A report in ``path``; ``problems``: what is missing in it, in words."""

    path: Path
    problems: tuple[str, ...]


def write_report(directory: Path, target: Path | None = None) -> Made:
    """Make the report of the series in ``directory``, and write it to ``target`` or beside them.

    Raises OSError, ValueError if there is no series, or none that can be read.
    """
    problems: list[str] = []
    series, snapshot = _read(directory, problems)
    if not len(series):
        raise ValueError(f"{directory}: no series of a crawl ({FILE_NAME}); it is kept in JOBDIR, or in REPORT_DIR")
    return _write(page(series, snapshot, problems), directory if target is None else target, problems)


def write_joint_report(directory: Path, target: Path | None = None) -> Made:
    """The same of a crawl by several workers, whose figures are below ``directory``.

    Raises OSError, ValueError if no worker has a series that can be read.
    """
    problems: list[str] = []
    workers = []
    for place in worker_directories(directory):
        name = place.name if place.parent == directory else place.parent.name
        try:
            workers.append(Worker(name, *_read(place, problems)))
        except (OSError, ValueError) as error:
            problems.append(f"{name} is missing in the report: {plain_message(error)}")
    series = joint_series(workers)
    if not len(series):
        raise ValueError(f"{directory}: no series of a crawl ({FILE_NAME}); it is kept in JOBDIR, or in REPORT_DIR")
    content = page(series, joint_snapshot(workers), problems, worker_facts(workers))
    return _write(content, directory if target is None else target, problems)


def _read(directory: Path, problems: list[str]) -> tuple[Series, dict[str, Any]]:
    """Series and snapshot in ``directory``; what is damaged is added to ``problems``. Raises OSError, ValueError."""
    series = read_series(directory / FILE_NAME)
    if series.damaged:
        problems.append(f"{directory / FILE_NAME}: damaged lines were skipped: {series.damaged}")
    try:
        return series, read_snapshot(directory / SNAPSHOT_NAME)
    except (OSError, ValueError) as error:
        problems.append(f"no servers, stats or settings in the report: {plain_message(error)}")
        return series, {}


def _write(content: str, target: Path, problems: Sequence[str]) -> Made:
    path = target / REPORT_NAME if target.is_dir() else target
    if path.is_symlink() or (path.exists() and not path.is_file()):  # to a pipe or a file: /dev/stdout; a device
        path.write_text(content, encoding="utf-8")
    else:
        replace_file(path, content, is_durable=False)
    return Made(path, tuple(problems))
