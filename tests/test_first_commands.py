"""The first commands of pages in docs/, as they are typed, on a web on loopback."""

import re
import shlex
from pathlib import Path

import pytest

from testbed.web import WebSpec, running_web
from tests.pages import blocks, page
from tests.processes import run_python

PAGES = ("duplicates", "limits", "policies", "resume", "settings", "traps", "troubleshooting", "watch")


@pytest.mark.parametrize("name", PAGES)
def test_the_commands_run(name: str, tmp_path: Path) -> None:
    """And print what the page shows."""
    commands = re.findall(r"^\$ scrapy (.*)\n((?:[^$\n].*\n)*)", blocks(page(f"{name}.md"))[0], re.MULTILINE)
    assert commands
    with running_web(WebSpec(servers=3, pages=12, time_scale=0.02)) as web:
        (tmp_path / "seeds.txt").write_text("\n".join(web.seeds))
        for command, shown in commands:
            arguments = shlex.split(command.replace("https://example.org", web.seeds[0].rstrip("/")))
            if arguments[0] == "crawl":
                arguments += ["-s", "FRONTIER_ALLOWED_NETWORKS=127.0.0.0/8", "-s", "FRONTIER_MIN_DELAY=0"]
            arguments = [re.sub(r"\b(?=job\b|pages\.jsonl$|seeds\.txt$)", f"{tmp_path}/", each) for each in arguments]
            done = run_python("-m", "scrapy", *arguments)
            assert done.returncode == 0, done.stderr
            assert "is not one of crawlproject's" not in done.stderr
            if shown or arguments[0] == "crawl":
                assert done.stdout == shown.replace("job", str(tmp_path / "job"), 1)
