"""Crawls beside one, as the console's page asks for them."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from crawlproject.monitor.console.past import Past
from tests.monitor.crawl_files import HOSTILE, samples, server, snapshot, write


def asked(past: Past, path: str, **given: str) -> Any:
    return asyncio.run(past.views()[path](given))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The crawl ``ours`` by two workers, beside two others and what is none."""
    for number in (1, 2):
        place = tmp_path / "ours" / f"worker-{number}" / "report"
        write(place, samples(100, 3600.0, 1000 * number), snapshot([server(1)], name="ours"))
    write(tmp_path / "job" / "report", samples(50, 1800.0, 4000), snapshot([server(1)], name=HOSTILE[0]))
    write(tmp_path / "broken" / "report", samples(5, 10.0, 7), {"version": 0})
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("")
    return tmp_path


def test_other_crawls(folder: Path) -> None:
    """Those that have figures; only they can be compared with, whatever a name looks like."""
    past = Past(folder / "ours")
    assert asked(past, "crawls") == ["broken", "job"]
    found = asked(past, "compare", **{"with": "job"})
    figures = {row[0]: row[1:] for row in found["lost"][0]["tables"][0]["rows"]}
    assert figures["Pages"] == ["3,000", "4,000"]
    assert found["history"]["of_pages"] is False
    assert found["by_pages"]["of_pages"] is True
    (problem,) = asked(past, "compare", **{"with": "broken"})["problems"]
    assert "of a version that is not known" in problem
    for name in ("", "..", "empty", "file", "job/report", str(folder / "job")):
        with pytest.raises(ValueError, match="the name of a crawl"):
            asked(past, "compare", **{"with": name})
    assert asked(Past(None), "crawls") == []
