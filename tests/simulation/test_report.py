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
    """Means over the webs."""
    lines = report.text(trials).splitlines()
    prefix = [trial.score["nauc"] for trial in trials if (trial.quality, trial.policy) == ("zipf", "prefix")]
    assert [line.split()[0] for line in lines if line] == [
        "web", "web", "pagerank", "breadth-first", "prefix", "zipf", "breadth-first", "prefix",
    ]  # fmt: skip
    heading, cells = lines[-3].split()[1:], lines[-1].split()[1:]
    shown = dict(zip(heading, cells, strict=True))
    assert shown["nauc"] == f"{np.mean(prefix):.3f}"


def test_rows_have_all_columns_of_the_score(trials: list[Trial], tmp_path: Path) -> None:
    """One row for each crawl, in the order of the trials."""
    report.write(trials, tmp_path)
    rows = read(tmp_path / "table.csv")
    for row, trial in zip(rows, trials, strict=True):
        assert (row["seed"], row["quality"], row["policy"]) == (str(trial.web.seed), trial.quality, trial.policy)
        for name, value in trial.score.items():
            assert float(row[name]) == pytest.approx(value, rel=1e-5), name
        assert float(row["unit"]) == pytest.approx(trial.reference.unit, rel=1e-5)


def test_curves_rise_to_everything_below_the_bound(trials: list[Trial]) -> None:
    """For each policy, and the bounds of pages and of quality beside them."""
    drawn = report.curves([trial for trial in trials if (trial.web.seed, trial.quality) == (2, "zipf")])
    for curves in (drawn.pages, drawn.quality):
        assert list(curves) == ["breadth-first", "prefix", "bound"]
        for policy in ("breadth-first", "prefix"):
            assert (np.diff(curves[policy]) >= 0).all()
            assert curves[policy][-1] == pytest.approx(1)
            assert (curves[policy] <= curves["bound"] + 1e-5).all()


def test_means_of_curves_over_webs(trials: list[Trial]) -> None:
    """On the time scale of each web's T."""
    pagerank = [trial for trial in trials if trial.quality == "pagerank"]
    both = report.curves(pagerank)
    assert both.times[-1] == max(trial.score["full_time"] for trial in pagerank)
    assert both.by_pages["prefix"][[0, -1]].tolist() == pytest.approx([0, 1])
    half = np.searchsorted(both.times, 0.5)
    shares = [trial.outcome.curve.at(both.times[half] * trial.reference.unit) for trial in pagerank[1::2]]
    assert both.quality["prefix"][half] == pytest.approx(np.mean(shares))
