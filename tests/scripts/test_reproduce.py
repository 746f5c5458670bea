"""The paper's figures at a small size, and a real crawl beside a simulated one."""

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from scripts.reproduce_cao2003 import main as reproduce
from testbed.twin import compare, twin
from testbed.web import WebSpec, build_web

SMALL = ["--servers", "100", "--pages", "2000", "--sessions", "12", "--connections", "4,16,64"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("figures")
    assert reproduce(["--figures", "3,4,6,7", *SMALL, "--output", str(folder)]) == 0
    return folder


def rows(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


@pytest.mark.long
def test_persistent_connections_and_more_of_them_are_faster(folder: Path) -> None:
    """By policy: HTTP/1.1 beats HTTP/1.0 with any number of connections, and 64 beat 16 beat 4."""
    rates: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in rows(folder, "fig4"):
        rates[row["policy"], row["protocol"]].append(float(row["pages_per_second"]))
    for policy in ("breadth-first", "performance"):
        old, new = rates[policy, "HTTP/1.0"], rates[policy, "HTTP/1.1"]
        assert all(one > two for one, two in zip(new, old, strict=True))
        assert old == sorted(old)
        assert new == sorted(new)


@pytest.mark.long
@pytest.mark.parametrize("figure", [6, 7])
def test_quality_comes_sooner_by_policies_that_know_it(folder: Path, figure: int) -> None:
    """By 30% of breadth-first's time capacity has more than breadth-first, and prefix more than capacity."""
    found = [row for row in rows(folder, f"fig{figure}") if row["crawl"] == "simulated, work"]
    at = {row["policy"]: float(row["quality"]) for row in found if float(row["time"]) <= 0.3}
    assert at["prefix"] > at["capacity"] > at["breadth-first"]


def test_tables_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """Markdown, on standard output; without --real there is no figure 5."""
    assert reproduce(["--figures", "3,5", "--servers", "20", "--pages", "60"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4:3] == [
        "## Figure 3: requests per connection, share of the servers",
        "| --- | --- | --- | --- | --- |",
    ]
    assert "Real crawls only: give --real." in lines


@pytest.mark.long
@pytest.mark.alone
def test_real_crawl_agrees_with_the_simulated_one() -> None:
    """The same web, for real and in virtual time: areas within 10%, as many pages, about as many connections."""
    spec = WebSpec(servers=30, pages=250, size_exponent=0.0, response_max=1.0)
    found = compare("capacity", spec, sessions=8)
    assert found.pages == spec.pages
    assert found.simulated_area == pytest.approx(found.real_area, rel=0.1)
    assert found.simulated_connections == pytest.approx(found.real_connections, rel=0.1)


def test_twin_has_the_emulated_webs_flaws() -> None:
    """Redirects, missing, failing and disallowed pages, Crawl-delays: the same pages can be collected."""
    shares = {"redirect_share": 0.1, "not_found_share": 0.1, "server_error_share": 0.05}
    spec = WebSpec(servers=20, pages=400, robots_disallow_share=0.5, crawl_delay_share=0.2, **shares)
    web = build_web(spec)
    simulated = twin(web)
    assert np.flatnonzero(simulated.collectable).tolist() == list(web.expected)
    assert len(web.expected) < 0.85 * spec.pages
    moved, target = next(iter(web.redirects.items()))
    assert simulated.targets[simulated.indptr[moved] : simulated.indptr[moved + 1]].tolist() == [target]
    assert simulated.crawl_delay.tolist() == [server.crawl_delay for server in web.servers]
