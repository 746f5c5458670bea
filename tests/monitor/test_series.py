"""Series and snapshot: what is kept of a crawl over time, whatever happens to the files."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scrapy.settings import Settings

from crawlproject.frontier.quality import MAX_QUALITY
from crawlproject.monitor.figures import Figures
from crawlproject.monitor.series import samples as series_file
from crawlproject.monitor.series.recording import changed_settings, sample_of
from crawlproject.monitor.series.samples import (
    COLUMNS,
    MAX_RUNS,
    Sample,
    SeriesWriter,
    head,
    read_series,
    read_snapshot,
    row,
)


def sample(elapsed: float, **values: float) -> Sample:
    return {**dict.fromkeys(COLUMNS, 0.0), "elapsed": elapsed, **values}


def test_samples_of_all_runs_come_back(tmp_path: Path) -> None:
    """Each run begins at zero."""
    path = tmp_path / "series.jsonl"
    for at in (1000.0, 5000.0):
        writer = SeriesWriter(path, at)
        for elapsed in (1.0, 2.0):
            writer.add(sample(elapsed, pages=7))
    series = read_series(path)
    assert [(run.at, [each["elapsed"] for each in run.samples]) for run in series.runs] == [
        (1000.0, [1.0, 2.0]),
        (5000.0, [1.0, 2.0]),
    ]
    assert series.runs[0].samples[0]["pages"] == 7


def test_sums_of_the_greatest_qualities_come_back(tmp_path: Path) -> None:
    """Above 1e18 all samples were damaged lines: the report had no curves."""
    path = tmp_path / "series.jsonl"
    written = sample(1.0, quality_gathered=1e6 * MAX_QUALITY, quality_queued=1e20)
    SeriesWriter(path, 1000.0).add(written)
    series = read_series(path)
    assert (series.damaged, series.runs[0].samples) == (0, [written])


def test_a_long_crawl_stays_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With numbers as large as they get; the whole time is covered."""
    monkeypatch.setattr(series_file, "MAX_SAMPLES", 200)
    path = tmp_path / "series.jsonl"
    writer = SeriesWriter(path, 1e9)
    elapsed = 0.0
    while elapsed < 5_000:
        elapsed += writer.interval
        writer.add(sample(round(elapsed, 1), **dict.fromkeys(COLUMNS[1:], 123_456_789.12)))
    assert path.stat().st_size < 200 * 500  # a week of 4,000 samples: 2 MB
    series = read_series(path)
    assert 98 <= len(series) <= 200
    assert series.runs[0].samples[-1]["elapsed"] == pytest.approx(5_000, abs=writer.interval + 1)
    assert series.interval == writer.interval


def test_a_torn_line_costs_a_sample(tmp_path: Path) -> None:
    """As after a kill; the next run repairs the file."""
    path = tmp_path / "series.jsonl"
    writer = SeriesWriter(path, 1000.0)
    for elapsed in (1.0, 2.0, 3.0):
        writer.add(sample(elapsed))
    path.write_bytes(path.read_bytes()[:-20])
    assert (len(read_series(path)), read_series(path).damaged) == (2, 1)
    again = SeriesWriter(path, 2000.0)
    assert again.damaged == 1
    again.add(sample(1.0))
    assert (len(read_series(path)), read_series(path).damaged) == (3, 0)


@pytest.mark.parametrize("samples", [0, 2])
def test_thousands_of_short_runs(samples: int, tmp_path: Path) -> None:
    """The oldest are dropped: no run is thinned below two samples."""
    path = tmp_path / "series.jsonl"
    lines = "".join(row(sample(float(number))) for number in range(samples))
    path.write_text("".join(head(float(at), 1.0) + lines for at in range(3 * MAX_RUNS)))
    writer = SeriesWriter(path, 1e6)
    writer.add(sample(1.0))
    series = read_series(path)
    assert [run.at for run in series.runs] == [*map(float, range(2 * MAX_RUNS + 1, 3 * MAX_RUNS)), 1e6]
    assert len(series) == samples * (MAX_RUNS - 1) + 1


@given(st.lists(st.one_of(st.binary(max_size=60), st.just(row(sample(1.0)).encode())), max_size=20))
def test_any_file_can_be_read(tmp_path_factory: pytest.TempPathFactory, parts: list[bytes]) -> None:
    """Damage is counted, never raised; a version that is not known is an error of one line."""
    path = tmp_path_factory.mktemp("any") / "series.jsonl"
    path.write_bytes(b"\n".join(parts))
    series = read_series(path)
    assert all(set(each) == set(COLUMNS) for run in series.runs for each in run.samples)


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize(
    "line",
    ["[" * 9000, "9" * 20_000, '{"at": NaN}', "[1, 2]", "[" + "1e999," * 19 + "1]", '{"at": 1e400, "version": 1}'],
)
def test_hostile_lines_are_damage(tmp_path: Path, line: str) -> None:
    """Deep, long, infinite, too short."""
    path = tmp_path / "series.jsonl"
    path.write_text(f"{line}\n{row(sample(1.0))}")
    series = read_series(path)
    assert len(series) == 1
    assert series.damaged >= 1


@pytest.mark.usefixtures("no_collection")
def test_versions_that_are_not_known(tmp_path: Path) -> None:
    """Of the series and of the snapshot."""
    path = tmp_path / "series.jsonl"
    path.write_text('{"version": 99, "at": 1, "columns": []}\n')
    with pytest.raises(ValueError, match="version 99"):
        read_series(path)
    for text in ('{"version": 99}', "[]", "{", "[" * 100_000):
        path.write_text(text)
        with pytest.raises(ValueError, match="damaged"):
            read_snapshot(path)


def test_a_sample_has_every_column() -> None:
    """And only numbers."""
    found = sample_of(Figures(at=0.0, elapsed=1.0, held_kind="politeness"))
    assert set(found) == set(COLUMNS)
    assert json.loads(row(found))[-1] == 2


def test_settings_that_differ_without_secrets() -> None:
    """Neither by name nor in a URL."""
    settings = Settings()
    changed: dict[str, Any] = {
        "FRONTIER_MAX_SESSIONS": 128,
        "FRONTIER_MIN_DELAY": 0.5,  # the default
        "REDIS_URL": "redis://user:hunter2@host/0",
        "FRONTIER_RECORDS_DB": "postgresql://user:of@hunter2@host/records",
        "FTP_PASSWORD": "hunter2",
        "AWS_SECRET_ACCESS_KEY": "hunter2",
        "AWS_ACCESS_KEY_ID": "hunter2",
        "MY_OWN_SETTING": "hunter2",
        "COOKIES_ENABLED": False,
    }
    for name, value in changed.items():
        settings.set(name, value, priority="project")
    found = changed_settings(settings)
    assert found["FRONTIER_MAX_SESSIONS"] == "128"
    assert found["COOKIES_ENABLED"] == "False"
    assert "host/0" in found["REDIS_URL"]
    assert "FRONTIER_MIN_DELAY" not in found
    assert "hunter2" not in str(found)


def test_a_full_disk_is_an_error_of_the_caller(tmp_path: Path) -> None:
    """The writer can go on afterwards."""
    path = tmp_path / "series.jsonl"
    writer = SeriesWriter(path, 1000.0)
    path.unlink()
    path.symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space"):
        writer.add(sample(1.0))
    path.unlink()
    writer.add(sample(2.0))
    assert len(read_series(path)) == 1
