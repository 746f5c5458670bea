"""The first commands of pages in docs/, as they are typed, on a web on loopback."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from testbed.web import WebSpec, running_web
from tests.processes import run_python

ROOT = Path(__file__).resolve().parents[1]


PAGES = ("duplicates", "limits", "policies", "resume", "settings", "traps", "troubleshooting", "watch")


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_run(page: str, tmp_path: Path) -> None:
    """And print what the page shows."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    lines = re.search(r"^```console\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert lines is not None
    commands = re.findall(r"^\$ scrapy (.*)\n((?:[^$\n].*\n)*)", lines[1], re.MULTILINE)
    assert commands
    with running_web(WebSpec(servers=3, pages=12, time_scale=0.02)) as web:
        (tmp_path / "seeds.txt").write_text("\n".join(web.seeds))
        for command, shown in commands:
            arguments = shlex.split(command.replace("https://example.org", web.seeds[0].rstrip("/")))
            if arguments[0] == "crawl":
                arguments += ["-s", "ALLOWED_NETWORKS=127.0.0.0/8", "-s", "FRONTIER_MIN_DELAY=0"]
            arguments = [re.sub(r"\b(?=job\b|pages\.jsonl$|seeds\.txt$)", f"{tmp_path}/", each) for each in arguments]
            done = run_python("-m", "scrapy", *arguments)
            assert done.returncode == 0, done.stderr
            assert "is not one of crawlproject's" not in done.stderr
            if shown or arguments[0] == "crawl":
                assert done.stdout == shown.replace("job", str(tmp_path / "job"), 1)
