"""docs/topic.md: its two runs, as a reader types them."""

import json
import os
import re
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pages import ROOT, blocks, page
from tests.processes import HUNG

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not (shutil.which("nginx") and shutil.which("apt-get")), reason="needs nginx and apt-get"),
]


def run_block(command: str, folder: Path) -> str:
    """Run the block that has ``command`` in ``folder``, on a free port; returns what it prints."""
    [block] = [block for block in blocks(page("topic.md")) if command in block]
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    script = re.sub(r"^\$ ", "", block, flags=re.MULTILINE)
    script = script.replace("--small", f"--small --port {port}").replace(":8080", f":{port}")
    script = script.replace("scripts/", f"{ROOT}/scripts/").replace("python ", f"{sys.executable} ")
    script = script.replace("scrapy crawl", f"{sys.executable} -m scrapy crawl")
    environment = os.environ | {"PYTHONPATH": str(ROOT), "SCRAPY_SETTINGS_MODULE": "crawlproject.settings"}
    command = ["bash", "-euo", "pipefail", "-c", script]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=HUNG, check=False
    )
    if (folder / "web").exists():
        stop = [sys.executable, str(ROOT / "scripts" / "real_web.py"), "stop", "web"]
        subprocess.run(stop, cwd=folder, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr[-3_000:]
    return done.stdout


def test_topic_page(tmp_path: Path) -> None:
    """Pages about comparing files, all of them of one package."""
    run_block("scrapy crawl topic", tmp_path)
    pages = [json.loads(line) for line in (tmp_path / "relevant.jsonl").read_text(encoding="utf-8").splitlines()]
    assert pages
    assert {"diffutils" in page["url"] for page in pages} == {True}
    assert all(page["relevance"] >= 0.1 for page in pages)


def test_keyword_page(tmp_path: Path) -> None:
    """The keyword is found where the page says, and the pages are saved."""
    told = run_block("KeywordHunter", tmp_path)
    assert re.search(r"^found on level \d, after \d+ pages: http://127\.2\.0\.1:\d+/", told, re.MULTILINE), told
    assert re.search(r"^line \d+: .*\*\*Side by Side\*\*", told, re.MULTILINE), told
    assert (tmp_path / "found" / "index.csv").exists()
