"""Joins the files of a crawl's workers into one series, one snapshot and a table of the workers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlproject.monitor.series.samples import COLUMNS, COUNTS, FILE_NAME, Run, Series, is_number, number_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from crawlproject.monitor.series.samples import Sample

#: Pattern of the names of the workers' own folders, as ``scrapy workers`` names them.
WORKER_FOLDERS = "worker-*"

#: Most workers that are joined, samples of the joint series, and servers of the joint snapshot.
MAX_WORKERS, MAX_SAMPLES, MAX_SERVERS = 1000, 2000, 1000

#: Columns that only grow, in one run after another; counts of a snapshot; what a worker holds; what it uses while it
#: runs.
GROWING = (*COUNTS, "gathered")
SUMMED = ("guarded", "doubted", "too_early")
HELD = ("given_up", "servers", "queued", "blocked", "seen", "waiting")
IN_USE = ("sessions", "session_limit", "ready", "resting", "leased", "cpu", "memory")

#: Seconds after its last sample from which a worker counts as ended, and from which others have what it held.
SILENT, TAKEN_OVER = 5.0, 30.0


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
    if series.runs and (stats := _last_stats(workers)):
        _leave(series.runs[-1].samples, *stats)
    return series


def _last_stats(workers: Sequence[Worker]) -> tuple[float, ...]:
    """URLs that waited in Redis, and servers, when the last worker left; () if it was killed, or runs.

    The last one to leave counts them; the last samples of workers that leave together may be in another order.
    """
    ends = {worker.name: max((moment.end for moment in _moments(worker.series)), default=0.0) for worker in workers}
    last = max(ends.values())
    for worker in sorted(workers, key=lambda worker: -ends[worker.name]):
        stats = _dict(worker.snapshot, "stats")
        found = [stats.get(f"workers/total/frontier/{name}") for name in ("urls", "servers")]
        if ends[worker.name] >= last - SILENT and all(map(is_number, found)):
            return tuple(map(number_of, found))
    return ()


def _leave(samples: Sequence[Sample], queued: float, servers: float) -> None:
    """Set what is known in the end; the quality of what waits is the mean of what the workers held.

    Partitions on their way from one worker to another were nobody's.
    """
    end = samples[-1]
    if end["waiting"] >= 0 and end["queued"] != queued:
        end["waiting"] = end["waiting"] / end["queued"] * queued if end["queued"] else (-1.0 if queued else 0.0)
    end["queued"], end["blocked"], end["servers"] = queued, min(end["blocked"], queued), servers
    end["seen"] = max(sample["seen"] for sample in samples if sample["elapsed"] >= end["elapsed"] - TAKEN_OVER)


def _moments(series: Series) -> Iterator[_Moment]:
    base = dict.fromkeys(GROWING, 0.0)
    for run in series.runs:
        if not run.samples:
            continue
        end, last = run.at + run.samples[-1]["elapsed"], dict(base)
        if run.samples[0]["gathered"] >= base["gathered"]:  # it was kept from the run before
            base["gathered"] = 0.0
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
    running = [moment.values for moment in now if at <= moment.end + SILENT]
    holding = [moment.values for moment in now if at <= moment.end + TAKEN_OVER and not moment.values["handed_over"]]
    if not holding:  # all have left, so nobody took over
        holding = [moment.values for moment in now if at <= moment.end + SILENT]
    sums = dict.fromkeys(COLUMNS, 0.0)
    sums |= {name: sum(moment.values[name] for moment in now) for name in GROWING}
    sums |= {name: sum(values[name] for values in holding) for name in HELD}
    sums |= {name: sum(values[name] for values in running) for name in IN_USE}
    if any(values["waiting"] < 0 for values in holding):
        sums["waiting"] = -1.0  # not known
    sums["lag"] = max((values["lag"] for values in running), default=0.0)
    busy = [values for values in running if values["queued"]] or running  # one that has nothing waits for the others
    reasons = Counter(values["held_back"] for values in busy)
    sums["held_back"] = reasons.most_common(1)[0][0] if reasons else 0.0
    return sums


def joint_snapshot(workers: Sequence[Worker]) -> dict[str, Any]:
    """Sums of what the workers' snapshots have, and the servers with the most pages. What is damaged is left out."""
    found = [worker.snapshot for worker in workers if worker.snapshot]
    if not found:
        return {}
    rows = _servers(found)
    rest = {
        name: sum(number_of(_dict(each, "rest").get(name)) for each in found)
        for name in ("servers", "pages", "gathered", "urls")
    }
    rest["servers"] += len(rows[MAX_SERVERS:])
    for name in ("pages", "gathered", "urls"):
        rest[name] += sum(number_of(row.get(name)) for row in rows[MAX_SERVERS:])
    shortest, longest = ([each[name] for each in found if is_number(each.get(name))] for name in _WAITS)
    return {
        "servers": rows[:MAX_SERVERS],
        "rest": rest,
        **{name: sum(number_of(each.get(name)) for each in found) for name in SUMMED},
        **_times(found),
        "shortest_wait": min(shortest, default=None),
        "longest_wait": max(longest, default=None),
        "name": found[0].get("name"),
        "spider": found[0].get("spider"),
        "examples": {name: urls for each in found for name, urls in _dict(each, "examples").items()},
        "stats": joint_stats([_dict(each, "stats") for each in found]),
        "settings": _common([_dict(each, "settings") for each in found]),
    }


_WAITS = ("shortest_wait", "longest_wait")
#: Ends of the names of stats that are a maximum.
_MAXIMA = ("/max", "/longest", "_max", "/max_open", "/commit_time")


def _servers(snapshots: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Their rows, most pages first; of a server that has moved from one worker to another, the row with most pages."""
    rows: dict[str, dict[str, Any]] = {}
    for snapshot in snapshots:
        listed = snapshot.get("servers")
        for row in listed[:MAX_SERVERS] if isinstance(listed, list) else ():
            if isinstance(row, dict):
                known = rows.get(str(row.get("server")))
                if known is None or number_of(row.get("pages")) > number_of(known.get("pages")):
                    rows[str(row.get("server"))] = row
    return sorted(rows.values(), key=lambda row: -number_of(row.get("pages")))


def _times(snapshots: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    bounds = snapshots[0].get("bounds")
    if not isinstance(bounds, list):
        return {}
    same = [each for each in snapshots if each.get("bounds") == bounds]
    found: dict[str, Any] = {"bounds": bounds}
    for name in ("connect", "response", "waits"):
        counts = [each[name] for each in same if isinstance(each.get(name), list)]
        whole = [each for each in counts if len(each) == len(bounds) + 1 and all(map(is_number, each))]
        found[name] = [sum(column) for column in zip(*whole, strict=True)]
    return found


def joint_stats(all_stats: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Sums of numbers, the highest of those that are a maximum; of texts, such as reasons, those that differ."""
    found: dict[str, Any] = {}
    for stats in all_stats:
        for name, value in stats.items():
            if is_number(value):
                known = number_of(found.get(name))
                is_most = name.endswith(_MAXIMA) or name.startswith("workers/total/")  # of the last one to leave
                found[name] = max(known, value) if is_most else known + value
            elif isinstance(value, str) and not is_number(found.get(name)):
                texts = str(found.get(name, "")).split(", ") if name in found else []
                found[name] = ", ".join(dict.fromkeys([*texts, value]))
    return found


def _common(settings: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Settings that are the same everywhere; others have a port or a directory of the worker."""
    first, *others = settings
    return {name: value for name, value in first.items() if all(each.get(name) == value for each in others)}


def _dict(snapshot: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = snapshot.get(name)
    return found if isinstance(found, dict) else {}
