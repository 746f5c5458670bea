"""The first run of docs/rendering.md, as it is typed."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.crawl.scripted_site import Answer, scripted_site
from tests.processes import run_python

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.long
def test_first_run(chromium: str, tmp_path: Path) -> None:
    """Twelve pages with their titles."""
    text = (ROOT / "docs" / "rendering.md").read_text(encoding="utf-8")
    serve = shlex.split(next(line for line in re.findall(r"^\$ (scripts/.*)$", text, re.MULTILINE)))
    crawl = shlex.split(next(line for line in re.findall(r"^\$ scrapy (crawl .*)$", text, re.MULTILINE)))
    command = [sys.executable, *serve[:-1], "0"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            url = server.stdout.readline().strip()
            there = str(tmp_path / "shop.jsonl")
            arguments = [{"shop.jsonl": there}.get(word, word).replace("http://127.0.0.1:8090/", url) for word in crawl]
            done = run_python("-m", "scrapy", *arguments)
            assert done.returncode == 0, done.stderr
            titles = [json.loads(line)["title"] for line in Path(there).read_text().splitlines()]
            assert sorted(titles) == sorted(["All items", *(f"Item {number}" for number in range(1, 12))])
        finally:
            server.terminate()


@pytest.mark.long
def test_rules_are_checked_on_the_page_as_the_crawl_renders_it(chromium: str, tmp_path: Path) -> None:
    """By the key ``render`` of the rules."""
    with scripted_site() as site:
        script = "document.body.innerHTML = '<h1>Red</h1>'"
        site.script = {"/book": Answer(f"<body><script>{script}</script>", headers={"Content-Type": "text/html"})}
        text = f'seeds = ["{site.origins[0]}/book"]\nrender = "always"\n[records.book.fields]\ntitle = "h1"\n'
        (tmp_path / "r.toml").write_text(text, encoding="utf-8")
        command = ("-m", "scrapy", "rules", "check", f"{tmp_path}/r.toml", f"{site.origins[0]}/book")
        done = run_python(*command, "-s", "FRONTIER_ALLOWED_NETWORKS=127.0.0.0/8", cwd=ROOT)
    assert "title  'Red'" in done.stdout, done.stderr
