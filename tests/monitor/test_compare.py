"""Two crawls side by side."""

from pathlib import Path

from tests.monitor.crawl_files import HOSTILE, data_of, rows_of, samples, server, snapshot, write
from tests.processes import run_python


def compared(one: Path, other: Path, target: Path) -> str:
    done = run_python("-m", "scrapy", "report", str(one), str(other), "-o", str(target))
    assert (done.returncode, done.stderr, done.stdout) == (0, "", f"{target}\n")
    return target.read_text(encoding="utf-8")


def test_figures_curves_losses_and_settings(tmp_path: Path) -> None:
    """Of each crawl; what is the same in both settings is left out."""
    settings = {"FRONTIER_POLICY": "'prefix'", "USER_AGENT": "'x'"}
    first = snapshot([server(1)], name="first", settings=settings)
    second = snapshot([server(1)], name="second", settings={"USER_AGENT": "'x'", "FRONTIER_MAX_SESSIONS": "8"})
    second["stats"]["fates/answer/not_found"] = 7
    write(tmp_path / "a" / "report", samples(100, 3600.0, 1000), first)
    write(tmp_path / "b", samples(50, 1800.0, 4000), second)
    html = compared(tmp_path / "a", tmp_path / "b", tmp_path / "both.html")
    data = data_of(html)
    assert data["title"] == "first and second"
    figures = {row[0]: row[1:] for row in data["lost"][0]["tables"][0]["rows"]}
    assert figures["Pages"] == ["1,000", "4,000"]
    assert figures["Lasted"] == ["1 h", "30 min"]
    lost = {row[0]: row[2:] for row in data["lost"][1]["tables"][0]["rows"]}
    assert lost["The server has no such page (404, 410)."] == ["90,000", "7"]
    assert rows_of(html, "Settings that differ, last run") == [
        ["FRONTIER_POLICY", "'prefix'", "default"],
        ["FRONTIER_MAX_SESSIONS", "default", "8"],
    ]
    for history, last in ((data["history"], 3600.0), (data["by_pages"], 4000.0)):
        assert [series[1] for series in history["charts"][0]["series"]] == ["first", "second"]
        assert history["points"][-1][0] == last
    time, *at_half = data["history"]["points"][100]
    assert time == 1800.0
    assert at_half[history["names"].index("0/1") - 1] is not None
    assert data["history"]["points"][-1][2] is None  # the second one had ended


def test_without_names_and_without_a_crawl(tmp_path: Path) -> None:
    """Two of one name are called by their directories; a directory without a crawl is one line."""
    for name in ("a", "b"):
        write(tmp_path / name, samples(10, 100.0, 50), snapshot([server(1)], name="same"))
    assert data_of(compared(tmp_path / "a", tmp_path / "b", tmp_path / "c.html"))["title"].startswith(str(tmp_path))
    (tmp_path / "none").mkdir()
    done = run_python("-m", "scrapy", "report", str(tmp_path / "a"), str(tmp_path / "none"))
    assert done.returncode == 1
    assert "no series of a crawl" in done.stderr
    assert run_python("-m", "scrapy", "report", "a", "b", "c").returncode == 2


def test_what_strangers_send(tmp_path: Path) -> None:
    """In names, settings and reasons."""
    for name, text in (("a", HOSTILE[0]), ("b", HOSTILE[1])):
        damaged = snapshot([server(1)], name=text, settings={text: text})
        write(tmp_path / name, samples(10, 100.0, 50), damaged)
    html = compared(tmp_path / "a", tmp_path / "b", tmp_path / "c.html")
    assert "<script>alert" not in html
