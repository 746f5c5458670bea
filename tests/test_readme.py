"""The commands of README and docs, as a new user types them."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from testbed.web import WebSpec, running_web
from tests.processes import HUNG, run_python

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SMALL = WebSpec(servers=4, pages=40, time_scale=0)
ON_LOOPBACK = ("-s", "FRONTIER_ALLOWED_NETWORKS=127.0.0.0/8")


def run(*command: str, cwd: Path = ROOT, **environment: str) -> str:
    done = subprocess.run(
        command, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, timeout=HUNG, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A copy of the project to work in, compiled, with the environment that this test runs in as its own."""
    copy = tmp_path / "crawlproject-copy"
    ignored = shutil.ignore_patterns(".git", ".venv", ".*_cache", ".hypothesis", "*.jsonl")
    shutil.copytree(ROOT, copy, ignore=ignored, symlinks=True)  # those of ``web`` may lead nowhere
    (copy / ".venv").symlink_to(sys.prefix)
    return copy


def test_quickstart_crawls_the_emulated_web(checkout: Path) -> None:
    """`scripts/quickstart` tells what README's first screen shows: all pages, none twice, no wait too short."""
    told = run("scripts/quickstart", cwd=checkout)
    shown = README.split("```console\n$ scripts/quickstart\n")[1].split("```")[0]
    numbers = re.compile(r"[\d.,]+|'[^']*'")
    assert [line.split()[0] for line in told.splitlines()] == [line.split()[0] for line in shown.splitlines()]
    assert numbers.sub("N", told.splitlines()[2]) == numbers.sub("N", shown.splitlines()[2])
    assert "fetched      800 of 800 pages" in told
    assert "0 of them twice" in told
    assert "politeness   0 waits too short, at most 1 connection to a server" in told


def test_quickstart_crawls_what_it_is_given(checkout: Path) -> None:
    """`scripts/quickstart URL` crawls that site, and stays on it, into pages.jsonl."""
    with running_web(SMALL) as web:
        run("scripts/quickstart", web.seeds[0], cwd=checkout, FRONTIER_ALLOWED_NETWORKS="127.0.0.0/8")
    pages = [json.loads(line) for line in (checkout / "pages.jsonl").read_text().splitlines()]
    assert len(pages) > 1
    assert {page["server"] for page in pages} == {pages[0]["server"]}


def test_web_spider_reads_seeds_from_a_file_and_from_standard_input(tmp_path: Path) -> None:
    """`scrapy crawl web -a seeds=FILE -O pages.jsonl`: a bad line costs a warning."""
    out = tmp_path / "pages.jsonl"
    with running_web(SMALL) as web:
        lines = "\n".join(["# seeds", *web.seeds, "http://[bad/", ""])
        (tmp_path / "seeds.txt").write_text(lines)
        command = ["-m", "scrapy", "crawl", "web", "-O", str(out), "-s", "FRONTIER_MIN_DELAY=0", *ON_LOOPBACK]
        for seeds, given in ((str(tmp_path / "seeds.txt"), None), ("-", lines)):
            done = run_python(*command, "-a", f"seeds={seeds}", input=given)
            assert done.returncode == 0, done.stderr
            assert len(out.read_text().splitlines()) == len(web.web.expected_urls())
            assert "web: bad_seeds 1," in done.stderr
            assert "WARNING: Seed" in done.stderr


def test_own_servers_are_crawled_as_shown(tmp_path: Path) -> None:
    """README's commands for one's own servers: all of their pages, none of others, and a report."""
    lines = README.split("### Your own servers")[1].split("```console\n")[1].split("```")[0].splitlines()
    with running_web(SMALL) as web:
        (tmp_path / "servers.txt").write_text("\n".join(web.seeds[:1]))
        host = web.seeds[0].split("/")[2].partition(":")[0]
        paths = {name: str(tmp_path / name) for name in ("servers.txt", "job", "pages.jsonl")}
        for line in lines:
            words = line.removeprefix("$ scrapy ").replace("example.org,example.com", host).split()
            words = [re.sub("servers.txt|job$|pages.jsonl", lambda name: paths[name[0]], word) for word in words]
            done = run_python("-m", "scrapy", *words, *(ON_LOOPBACK if words[0] == "crawl" else ()))
            assert done.returncode == 0, done.stderr
    pages = [json.loads(page) for page in (tmp_path / "pages.jsonl").read_text().splitlines()]
    assert len(pages) > 1
    assert {page["server"].split("/")[2].partition(":")[0] for page in pages} == {host}
    assert (tmp_path / "job" / "report" / "report.html").exists()


def test_settings_of_a_project_with_the_addon_are_logged() -> None:
    """The log's "Overridden settings" tells what the add-on did, as docs/settings.md says."""
    with running_web(SMALL) as web:
        command = ["-m", "scrapy", "crawl", "web", "-a", f"seeds={web.seeds[0]}", "-a", "max_pages=1", "-L", "DEBUG"]
        done = run_python(*command, *ON_LOOPBACK)
    overridden = done.stderr.split("Overridden settings:")[1]
    assert "'SCHEDULER': 'crawlproject.scheduler.FrontierScheduler'" in overridden
