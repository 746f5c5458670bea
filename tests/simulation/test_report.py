"""Results as a table, and as CSV files."""

import csv
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from crawlproject.simulation import report
from crawlproject.simulation.crawl import CrawlOptions
from crawlproject.simulation.experiment import Experiment, Trial, run
from crawlproject.simulation.synthetic import SyntheticSpec

SMALL = SyntheticSpec(servers=20, pages=300)


@pytest.fixture(scope="module")
def trials() -> list[Trial]:
    """Two webs, two qualities, two policies; capacity is not among them."""
    webs = (SMALL, replace(SMALL, seed=2))
    options = CrawlOptions(sessions=4)
    return run(Experiment(webs, ("pagerank", "zipf"), ("breadth-first", "prefix"), options=options))


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_table_has_a_line_for_each_policy_and_quality(trials: list[Trial]) -> None:
    """Means over the webs and the worst nauc; what was not measured is a dash."""
    lines = report.text(trials).splitlines()
    prefix = [trial.score.nauc for trial in trials if (trial.quality, trial.policy) == ("zipf", "prefix")]
    assert [line.split()[0] for line in lines if line] == [
        "web", "web", "pagerank", "breadth-first", "prefix", "zipf", "breadth-first", "prefix",
    ]  # fmt: skip
    heading, cells = lines[-3].split()[1:], lines[-1].split()[1:]
    shown = dict(zip(heading, cells, strict=True))
    assert shown["nauc"] == f"{np.mean(prefix):.3f}"
    assert shown["worst"] == f"{min(prefix):.3f}"
    assert shown["t80/cap"] == "-"


def test_rows_have_all_columns_of_the_score(trials: list[Trial], tmp_path: Path) -> None:
    """One row for each crawl, in the order of the trials; nan is empty."""
    report.write(trials, tmp_path)
    rows = read(tmp_path / "table.csv")
    assert [(row["seed"], row["quality"], row["policy"]) for row in rows] == [
        (str(trial.web.seed), trial.quality, trial.policy) for trial in trials
    ]
    assert float(rows[1]["nauc"]) == pytest.approx(trials[1].score.nauc, rel=1e-5)
    assert float(rows[1]["t80_breadth_first"]) == pytest.approx(trials[1].t80_breadth_first, rel=1e-5)
    assert rows[1]["t80_capacity"] == ""
    assert {"q10", "t50", "gap", "full_time", "connections", "failures", "busy_share", "unit"} <= set(rows[0])


def test_summary_is_over_the_webs(trials: list[Trial], tmp_path: Path) -> None:
    """Mean, least and greatest of each column."""
    report.write(trials, tmp_path)
    rows = [row for row in read(tmp_path / "summary.csv") if (row["quality"], row["policy"]) == ("zipf", "prefix")]
    values = [trial.score.t80 for trial in trials if (trial.quality, trial.policy) == ("zipf", "prefix")]
    assert [row["statistic"] for row in rows] == ["mean", "min", "max"]
    expected = [np.mean(values), min(values), max(values)]
    assert [float(row["t80"]) for row in rows] == pytest.approx(expected, rel=1e-5)
    assert {row["webs"] for row in rows} == {"2"}


def test_curves_rise_to_everything_below_the_bound(trials: list[Trial], tmp_path: Path) -> None:
    """For each web, quality and policy, and the bounds of pages and of quality beside them."""
    report.write(trials, tmp_path)
    rows = [row for row in read(tmp_path / "curves.csv") if (row["seed"], row["quality"]) == ("2", "zipf")]
    assert list(dict.fromkeys(row["policy"] for row in rows)) == ["breadth-first", "prefix", "bound"]
    for column in ("pages", "collected"):
        bound = np.array([float(row[column]) for row in rows if row["policy"] == "bound"])
        for policy in ("breadth-first", "prefix"):
            curve = np.array([float(row[column]) for row in rows if row["policy"] == policy])
            assert (np.diff(curve) >= 0).all()
            assert curve[-1] == pytest.approx(1)
            assert (curve <= bound + 1e-5).all()


def test_means_of_curves_over_webs(trials: list[Trial]) -> None:
    """On the time scale of each web's T."""
    pagerank = [trial for trial in trials if trial.quality == "pagerank"]
    both = report.curves(pagerank)
    assert both.times[-1] == max(trial.score.full_time for trial in pagerank)
    assert both.by_pages["prefix"][[0, -1]].tolist() == pytest.approx([0, 1])
    half = np.searchsorted(both.times, 0.5)
    shares = [trial.outcome.curve.at(both.times[half] * trial.reference.unit) for trial in pagerank[1::2]]
    assert both.quality["prefix"][half] == pytest.approx(np.mean(shares))
