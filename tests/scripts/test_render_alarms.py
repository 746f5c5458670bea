"""scripts/render_alarms.py: which files RENDER=auto would render."""

from __future__ import annotations

from pathlib import Path

from tests.processes import run_python

ROOT = Path(__file__).resolve().parents[2]


def test_pages_are_counted(tmp_path: Path) -> None:
    """One of two."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "text.html").write_text("<p>" + "Words. " * 100 + "</p><script></script>")
    (tmp_path / "app.htm").write_text("<div id=root></div><script src=/a.js></script>")
    (tmp_path / "other.txt").write_text("<div id=root></div><script src=/a.js></script>")
    done = run_python(str(ROOT / "scripts" / "render_alarms.py"), str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "2 pages, 2 with scripts; rendered 1 (50.000%) {'empty_root': 1}" in done.stdout
    assert f"empty_root: {tmp_path / 'app.htm'}" in done.stdout
    assert run_python(str(ROOT / "scripts" / "render_alarms.py")).returncode == 1
