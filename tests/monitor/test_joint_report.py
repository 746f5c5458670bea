"""One report of all workers of a crawl."""

import os
from pathlib import Path

import pytest

from crawlproject.monitor.report.facts import Facts
from crawlproject.monitor.report.joint import MAX_SAMPLES, Worker, joint_series, joint_snapshot, worker_directories
from crawlproject.monitor.report.page import write_report
from crawlproject.monitor.series.samples import COLUMNS, COUNTS, FILE_NAME, Run, Sample, Series
from tests.monitor.crawl_files import HOSTILE, rows_of, samples, server, snapshot, write
from tests.processes import run_python


def steady(seconds: int, pages_per_second: int, **values: float) -> list[Sample]:
    return [
        dict.fromkeys(COLUMNS, 0.0)
        | {"elapsed": float(second), "pages": float(pages_per_second * second), "quality_gathered": float(second)}
        | values
        for second in range(seconds + 1)
    ]


def worker(*runs: Run, **snapshot: object) -> Worker:
    return Worker("worker", Series(list(runs)), snapshot)


def joined(*workers: Worker) -> Facts:
    """The joint series, as the report reads it."""
    return Facts.of(joint_series(workers), joint_snapshot(workers))


def test_two_workers_are_added_up_at_each_time() -> None:
    """One starts 10 s later and is twice as fast; what they use counts only while they run."""
    facts = joined(
        worker(Run(1000.0, steady(40, 1, sessions=3, queued=5, cpu=0.5, memory=100))),
        worker(Run(1010.0, steady(20, 2, sessions=4, queued=7, cpu=0.25, memory=200))),
    )
    at = {sample["elapsed"]: sample for sample in facts.samples}
    assert (at[5.0]["pages"], at[5.0]["sessions"], at[5.0]["queued"]) == (5, 3, 5)
    assert (at[20.0]["pages"], at[20.0]["sessions"], at[20.0]["queued"], at[20.0]["cpu"]) == (40, 7, 12, 0.75)
    assert (facts.end["elapsed"], facts.end["pages"], facts.end["quality_gathered"]) == (40.0, 80, 60)
    assert (facts.end["sessions"], facts.end["memory"]) == (3, 100)
    assert facts.runs == 1


def test_a_worker_that_was_killed_and_one_that_was_started_again() -> None:
    """Its pages stay counted; what it held was taken over; a pause of the whole crawl is not time that it ran."""
    killed = worker(Run(1000.0, steady(10, 1, queued=50)))
    again = worker(Run(1000.0, steady(60, 1, queued=10)), Run(5000.0, steady(20, 2, queued=10)))
    facts = joined(killed, again)
    at = {sample["elapsed"]: sample for sample in facts.samples}
    assert at[5.0]["queued"] == 60
    assert at[30.0]["queued"] == 10
    assert at[50.0]["pages"] == 60
    assert (facts.end["elapsed"], facts.end["pages"], facts.end["quality_gathered"]) == (80.0, 110, 90)
    assert (facts.runs, facts.last) == (2, 5020.0)


def test_quality_kept_from_the_run_before_counts_once() -> None:
    """A run whose first sample has at least as much as the last one of the run before."""
    later = [each | {"quality_gathered": each["quality_gathered"] + 10.0} for each in steady(10, 1)]
    assert joined(worker(Run(0.0, steady(10, 1)), Run(100.0, later))).end["quality_gathered"] == 20.0


def test_the_joint_series_is_bounded() -> None:
    """However many samples; counts never fall."""
    found = joint_series([worker(Run(float(start), samples(1500, 1e6, 1000))) for start in range(2)])
    assert len(found) <= MAX_SAMPLES + 10
    facts = Facts.of(found, {})
    for name in COUNTS:
        values = [sample[name] for sample in facts.samples]
        assert values == sorted(values)
    assert not len(joint_series([]))
    damaged = joint_series([worker(Run(0.0, steady(3, 1)), Run(1e17, steady(3, 1)))])
    assert len(damaged) <= 20


def test_snapshots_are_summed() -> None:
    """A server that has moved is listed once; distributions, stats and waits are joined; one may be missing."""
    two = [
        snapshot([server(0), server(1)], shortest_wait=0.7),
        snapshot(
            [server(1, fetched=1), server(2)], settings={"FRONTIER_MAX_SESSIONS": "128", "FRONTIER_CONSOLE_PORT": "1"}
        ),
    ]
    two[0]["stats"]["monitor/lag/max"] = 3.0
    two[0]["stats"]["frontier/sessions/max_open"] = 5
    two[1]["stats"] |= {"monitor/lag/max": 2.0, "frontier/sessions/max_open": 7, "finish_reason": "shutdown"}
    found = joint_snapshot([worker(**each) for each in two] + [worker()])
    assert found["servers"] == [server(number) for number in range(3)]
    assert found["rest"]["pages"] == 800_000
    assert found["stats"]["downloader/request_count"] == 2_400_000
    assert found["stats"]["monitor/lag/max"] == 3.0
    assert found["stats"]["frontier/sessions/max_open"] == 7
    assert found["stats"]["finish_reason"] == "finished, shutdown"
    assert (found["shortest_wait"], found["longest_wait"]) == (0.5, 60.0)
    assert found["connect"][0] == 2 * two[0]["connect"][0]
    assert found["settings"] == {"FRONTIER_MAX_SESSIONS": "128"}  # not those of one worker only


def test_a_worker_with_two_series_counts_once(tmp_path: Path) -> None:
    """It was run with ``FRONTIER_REPORT_DIR`` and without: the series that changed last counts."""
    for number, (older, newer) in enumerate([("report", "."), (".", "report")], 1):
        for age, part in enumerate((newer, older)):
            folder = tmp_path / f"worker-{number}" / part
            write(folder, samples(100, 100.0, 1000 * number), None)
            os.utime(folder / FILE_NAME, (1e9 - age, 1e9 - age))
    assert worker_directories(tmp_path) == [tmp_path / "worker-1", tmp_path / "worker-2" / "report"]


def test_the_report_of_a_directory_of_workers(tmp_path: Path) -> None:
    """``scrapy report``: sums, a row for each worker, strangers' text as text; a damaged worker costs its row."""
    for number in (1, 2, 10):
        folder = tmp_path / f"worker-{number}" / ("report" if number < 10 else ".")
        write(folder, samples(100, 100.0, 1000 * number), snapshot([server(number, server=HOSTILE[0])]))
    broken = write(tmp_path / "worker-11", samples(1, 1.0, 1), None) / FILE_NAME
    broken.write_text('{"version": 99, "at": 1.0}\n')
    assert [place.relative_to(tmp_path).parts[0] for place in worker_directories(tmp_path)] == [
        "worker-1",
        "worker-2",
        "worker-10",
        "worker-11",
    ]
    done = run_python("-m", "scrapy", "report", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str(tmp_path / "report.html")
    assert "worker-11 is missing in the report" in done.stderr
    html = (tmp_path / "report.html").read_text()
    assert "it fetched 13,000 pages" in html
    for name, pages in (("worker-1", "1,000"), ("worker-2", "2,000"), ("worker-10", "10,000")):
        assert [name, pages] in [row[:2] for row in rows_of(html, "Workers")]
    assert "<script>alert" not in html


@pytest.mark.parametrize(("at", "elapsed"), [(-9e17, 5.0), (9e17, 5.0), (1e9, 9e17), (1e9, -9e17)])
def test_times_that_cannot_be(tmp_path: Path, at: float, elapsed: float) -> None:
    """In a damaged file of one worker: a report, and no error."""
    for number, run in ((1, Run(1e9, steady(5, 1))), (2, Run(at, [steady(0, 1)[0] | {"elapsed": elapsed}]))):
        (tmp_path / f"worker-{number}").mkdir()
        (tmp_path / f"worker-{number}" / FILE_NAME).write_text("".join(Series([run]).lines()))
    assert "worker-2" in write_report(tmp_path).path.read_text()
