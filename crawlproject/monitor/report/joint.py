"""Joins the files of a crawl's workers into one series and one snapshot."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlproject.monitor.series.samples import COLUMNS, COUNTS, FILE_NAME, Run, Series, is_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from crawlproject.monitor.series.samples import Sample

#: Pattern of the names of the workers' own folders, as ``scrapy workers`` names them.
WORKER_FOLDERS = "worker-*"

#: Most workers that are joined, samples of the joint series, and servers of the joint snapshot.
MAX_WORKERS, MAX_SAMPLES, MAX_SERVERS = 1000, 2000, 1000

#: Columns that only grow, in one run after another; all others are of what a worker has while it runs.
GROWING = (*COUNTS, "quality_gathered")
PRESENT = tuple(name for name in COLUMNS if name not in GROWING)

#: Counts of a snapshot.
SUMMED = ("doubted", "too_early")

#: Seconds: two runs with a shorter pause between them count as one; so long after a worker ended, others have its URLs.
SILENT, TAKEN_OVER = 5.0, 30.0

#: Ends of the names of stats that are a maximum.
_MAXIMA = ("/max", "/longest", "_max", "/max_open", "/commit_time")


@dataclass(frozen=True)
class Worker:
    name: str
    series: Series
    #: Empty if there is none that can be read.
    snapshot: Mapping[str, Any]


def in_order(folders: Iterable[Path]) -> list[Path]:
    """Folders of workers by their numbers: ``worker-2`` before ``worker-10``. O(n log n)."""
    return sorted(folders, key=lambda folder: (len(folder.name), folder.name))


def worker_directories(directory: Path) -> list[Path]:
    """The directories of the workers' figures, below ``directory``: empty if it has none.

    A worker that has been run with and without ``FRONTIER_REPORT_DIR`` counts once, with the figures that changed last.
    """
    folders = in_order(directory.glob(f"{WORKER_FOLDERS}/"))[:MAX_WORKERS]
    found = ([place for place in (folder / "report", folder) if (place / FILE_NAME).is_file()] for folder in folders)
    return [max(places, key=lambda place: (place / FILE_NAME).stat().st_mtime_ns) for places in found if places]


class _Moment(NamedTuple):
    """A sample at a time on the wall clock, its counts over all runs so far; ``end`` of its run."""

    at: float
    end: float
    values: Sample


def joint_series(workers: Sequence[Worker]) -> Series:
    """At each time the sum of what the workers had then. A run for each stretch in which any of them ran.

    O(samples + MAX_SAMPLES * workers).
    """
    histories = [list(_moments(worker.series)) for worker in workers]
    stretches = _stretches([(moment.at, moment.end) for history in histories for moment in history])
    interval = max(1.0, sum(end - start for start, end in stretches) / MAX_SAMPLES)
    places = [-1] * len(histories)
    before = dict.fromkeys(COUNTS, 0.0)
    series = Series(interval=interval)
    for start, end in stretches[-MAX_SAMPLES:]:
        run = Run(start)
        series.runs.append(run)
        steps = ceil((end - start) / interval)
        for at in (*(start + step * interval for step in range(steps)), end):
            for number, history in enumerate(histories):
                while places[number] + 1 < len(history) and history[places[number] + 1].at <= at:
                    places[number] += 1
            now = [history[place] for history, place in zip(histories, places, strict=True) if place >= 0]
            sample = _sum(now, at)
            counts = {name: sample[name] - before[name] for name in COUNTS}
            run.samples.append({**sample, **counts, "elapsed": at - start})
        before = {name: before[name] + run.samples[-1][name] for name in COUNTS}
    if series.runs:
        _leave(series.runs[-1].samples, workers, histories)
    return series


def _leave(samples: Sequence[Sample], workers: Sequence[Worker], histories: Sequence[Sequence[_Moment]]) -> None:
    """Set what is known in the end: URLs that wait in Redis, and servers, as the last worker to leave has counted them.

    The quality of what waits is the mean of what the workers held.  Nothing is set if it was killed, or still runs.
    """
    last = max(history[-1].end for history in histories if history)
    for worker, history in zip(workers, histories, strict=True):
        stats = worker.snapshot.get("stats", {})
        queued, servers = (stats.get(f"workers/total/frontier/{name}") for name in ("urls", "servers"))
        if history and history[-1].end >= last - SILENT and is_number(queued) and is_number(servers):
            end = samples[-1]
            if end["quality_queued"] >= 0 and end["queued"] != queued:
                mean = end["quality_queued"] / end["queued"] if end["queued"] else -1.0
                end["quality_queued"] = (mean * queued if mean >= 0 else -1.0) if queued else 0.0
            end["queued"], end["blocked"], end["servers/known"] = queued, min(end["blocked"], queued), servers
            end["seen"] = max(each["seen"] for each in samples if each["elapsed"] >= end["elapsed"] - TAKEN_OVER)


def _moments(series: Series) -> Iterator[_Moment]:
    base = dict.fromkeys(GROWING, 0.0)
    for run in series.runs:
        if not run.samples:
            continue
        end, last = run.at + run.samples[-1]["elapsed"], dict(base)
        if run.samples[0]["quality_gathered"] >= base["quality_gathered"]:  # it was kept from the run before
            base["quality_gathered"] = 0.0
        for sample in run.samples:
            last = {name: base[name] + sample[name] for name in GROWING}
            yield _Moment(run.at + sample["elapsed"], end, {**sample, **last})
        base = last


def _stretches(spans: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The union of these spans of time, in order; short gaps are filled."""
    found: list[tuple[float, float]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1] + SILENT:
            found[-1] = found[-1][0], max(found[-1][1], end)
        else:
            found.append((start, end))
    return found


def _sum(now: Sequence[_Moment], at: float) -> Sample:
    running = [moment.values for moment in now if at <= moment.end]
    sums = {name: sum(moment.values[name] for moment in now) for name in GROWING}
    sums |= {name: sum(values[name] for values in running) for name in PRESENT}
    if any(values["quality_queued"] < 0 for values in running):
        sums["quality_queued"] = -1.0  # not known
    sums["lag"] = max((values["lag"] for values in running), default=0.0)
    busy = [values for values in running if values["queued"]] or running  # one that has nothing waits for the others
    reasons = Counter(values["held_back"] for values in busy)
    sums["held_back"] = reasons.most_common(1)[0][0] if reasons else 0.0
    return sums


def joint_snapshot(workers: Sequence[Worker]) -> dict[str, Any]:
    """Sums of what the workers' snapshots have, and the servers with the most pages."""
    found = [worker.snapshot for worker in workers if worker.snapshot]
    if not found:
        return {}
    rows: dict[str, dict[str, Any]] = {}
    for row in (row for each in found for row in each["servers"]):
        known = rows.get(row["server"])  # it may have moved from one worker to another
        if known is None or row["fetched"] > known["fetched"]:
            rows[row["server"]] = row
    servers = sorted(rows.values(), key=lambda row: -row["fetched"])
    rest = {name: sum(each["rest"][name] for each in found) for name in ("servers", "pages", "gathered", "urls")}
    for row in servers[MAX_SERVERS:]:
        rest["servers"] += 1
        for name, column in (("pages", "fetched"), ("gathered", "gathered"), ("urls", "urls")):
            rest[name] += row[column]
    first, *others = (each["settings"] for each in found)
    return {
        **found[0],
        "servers": servers[:MAX_SERVERS],
        "rest": rest,
        "budget": "",
        **{name: sum(each[name] for each in found) for name in SUMMED},
        **{
            name: [sum(column) for column in zip(*(each[name] for each in found), strict=True)]
            for name in ("connect", "response", "waits")
        },
        "shortest_wait": min((wait for each in found if (wait := each["shortest_wait"]) is not None), default=None),
        "longest_wait": max(each["longest_wait"] for each in found),
        "examples": {name: urls for each in found for name, urls in each["examples"].items()},
        "stats": joint_stats([each["stats"] for each in found]),
        # not those that have a port or a directory of the worker
        "settings": {name: value for name, value in first.items() if all(each.get(name) == value for each in others)},
    }


def joint_stats(all_stats: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Sums of numbers, the highest of those that are a maximum; of texts, such as reasons, those that differ."""
    found: dict[str, Any] = {}
    for stats in all_stats:
        for name, value in stats.items():
            known = found.get(name, 0)
            if is_number(value) and is_number(known):
                is_most = name.endswith(_MAXIMA) or name.startswith("workers/total/")  # of the last one to leave
                found[name] = max(known, value) if is_most else known + value
            elif isinstance(value, str):
                texts = known.split(", ") if isinstance(known, str) else []
                found[name] = ", ".join(dict.fromkeys([*texts, value]))
    return found
