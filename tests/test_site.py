"""The documentation as a site."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from scripts.docs_site import OUTSIDE, PUBLIC
from tests.pages import ROOT


def test_site_is_built_without_a_warning(tmp_path: Path) -> None:
    """All pages are in the navigation, and all links and headings exist; so do commands and API."""
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    pages = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.html")}
    assert {path.replace(".md", ".html") for path in OUTSIDE} < pages
    assert "scrapy simulate" in (tmp_path / "commands.html").read_text(encoding="utf-8")
    api = (tmp_path / "api.html").read_text(encoding="utf-8")
    assert [name for name in PUBLIC if f'id="{name}"' not in api] == []
