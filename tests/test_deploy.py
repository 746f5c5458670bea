"""docs/deploy.md, command by command, with a real scrapyd."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.request import urlopen

import pytest

from testbed.children import free_port
from testbed.redis_server import RunningRedis
from testbed.web import RunningWeb, WebSpec, fetches, running_web
from tests.pages import blocks, commands, page
from tests.processes import HUNG
from tests.waiting import until

ROOT = Path(__file__).resolve().parents[1]
DOCS = page("deploy.md")
PORT = "6800"
REDIS_URL = "redis://localhost:6379/0"
WEB = WebSpec(servers=4, pages=40, time_scale=0)
#: What the emulated web needs besides, and what makes a crawl of it fast.
ON_LOOPBACK = "-d setting=FRONTIER_ALLOWED_NETWORKS=127.0.0.0/8 -d setting=FRONTIER_MIN_DELAY=0"
#: The first job takes half a minute, so that it can be stopped before it ends.
SLOW = "-d setting=DOWNLOAD_DELAY=3"


def sections() -> dict[str, list[str]]:
    """Commands of each section, by its title."""
    return {section.partition("\n")[0]: commands(section) for section in re.split(r"\n###? ", DOCS)[1:]}


@dataclass
class User:
    """Somebody with a checkout, an empty home and a free port, who types what the document says."""

    checkout: Path
    home: Path
    port: int
    web: RunningWeb
    redis_url: str = REDIS_URL
    commands: dict[str, list[str]] = field(default_factory=sections)

    @property
    def environment(self) -> dict[str, str]:
        """Of a shell of its own; pip has the archives that it has downloaded before.

        Nothing is compiled: what is in an egg's ``__pycache__`` is not read from there.  To switch ``--no-compile`` of
        pip on, its variable has to be false.
        """
        names = ("VIRTUAL_ENV", "SCRAPY_SETTINGS_MODULE")
        kept = {name: value for name, value in os.environ.items() if name not in names}
        pip = {
            "PIP_CACHE_DIR": str(Path("~/.cache/pip").expanduser()),
            "PIP_NO_COMPILE": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        return pip | kept | {"HOME": str(self.home)}

    def script(self, section: str, more: str = "") -> str:
        """What is typed: ports, seeds and domains are those of this test."""
        typed = "\n".join(self.commands[section]).replace(PORT, str(self.port)).replace(REDIS_URL, self.redis_url)
        typed = typed.replace("seeds=https://example.org/", f"seeds={','.join(self.web.seeds)}")
        typed = typed.replace("-d allowed=example.org", f"{ON_LOOPBACK} {more}")
        activated = "" if section == "Install" else ". .venv/bin/activate\n"
        return f"set -e\n{activated}{typed}"

    def type(self, section: str, more: str = "") -> str:
        done = subprocess.run(
            ["bash", "-c", self.script(section, more)],
            cwd=self.checkout, env=self.environment, capture_output=True, text=True, timeout=HUNG, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def items(self, files: str = "pages.jsonl") -> list[str]:
        """URLs of the items written so far."""
        paths = sorted((self.home / "scrapyd").glob(files))
        lines = [line for path in paths for line in path.read_text(encoding="utf-8").split("\n")[:-1]]
        return [json.loads(line)["url"] for line in lines]

    def log(self, job: str) -> str:
        """Of a job."""
        return (self.home / "scrapyd" / "logs" / "crawlproject" / "web" / f"{job}.log").read_text(encoding="utf-8")

    def state(self, job: str) -> str:
        """``pending``, ``running`` or ``finished``."""
        with urlopen(f"http://127.0.0.1:{self.port}/listjobs.json?project=crawlproject") as told:  # as "Look" does
            answer = json.load(told)
        return next(
            state for state, jobs in answer.items() if isinstance(jobs, list) for one in jobs if one["id"] == job
        )

    @contextmanager
    def scrapyd(self) -> Iterator[None]:
        """The server of the document, until the end of the block, in a group of its own: its jobs end with it."""
        folder = self.home / "scrapyd"
        folder.mkdir()
        conf = blocks(DOCS, "ini")[0].replace(PORT, str(self.port))
        (folder / "scrapyd.conf").write_text(f"{conf}poll_interval = 0.2\n", encoding="utf-8")
        with (self.home / "scrapyd.log").open("wb") as log:
            server = subprocess.Popen(
                ["bash", "-c", self.script("Start scrapyd")],
                cwd=self.checkout, env=self.environment, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
            try:
                told = (self.home / "scrapyd.log").read_text
                until(lambda: f"Site starting on {self.port}" in told(), server, told)
                yield
            finally:
                os.killpg(server.pid, signal.SIGTERM)
                server.wait()


@pytest.fixture
def user(tmp_path: Path) -> Iterator[User]:
    ignored = shutil.ignore_patterns(".git", ".venv", ".*_cache", ".hypothesis", "*.egg-info", "build")
    checkout = Path(shutil.copytree(ROOT, tmp_path / "checkout", ignore=ignored, symlinks=True))
    (tmp_path / "home").mkdir()
    user = User(checkout, tmp_path / "home", free_port(), None)  # type: ignore[arg-type]
    config = checkout / "scrapy.cfg"
    config.write_text(config.read_text(encoding="utf-8").replace(PORT, str(user.port)), encoding="utf-8")
    with running_web(WEB) as user.web:
        yield user


def follow(user: User) -> None:
    """The document from "Start scrapyd" to "Resume"; the egg has the package, no tests or scripts."""
    with user.scrapyd():
        told = json.loads(user.type("Deploy"))
        assert (told["status"], told["spiders"] > 0) == ("ok", True)
        names = zipfile.ZipFile(next((user.home / "scrapyd").rglob("*.egg"))).namelist()
        assert {name.split("/")[0] for name in names} == {"crawlproject", "EGG-INFO"}
        assert '"status": "ok"' in user.type("Schedule", SLOW)
        until(lambda: bool(fetches(user.web.records())))
        assert "Spider opened" in user.type("Look")
        assert user.state("first") == "running"
        assert '"prevstate": "running"' in user.type("Stop")
        until(lambda: user.state("first") == "finished")
        first = user.items()
        assert user.type("Read the items").startswith('{"url": ')
        assert 0 < len(first) < len(user.web.web.expected_urls())
        user.type("Resume")
        until(lambda: user.state("second") == "finished")
    assert user.items()[: len(first)] == first
    assert sorted(user.items()) == sorted(user.web.web.expected_urls())
    assert "finish_reason finished" in user.log("second")
    assert "End " not in user.log("second")  # no panel
    for job in ("first", "second"):
        assert not set(user.log(job)) & {"\x1b", "\r", "\x07"}, "control codes in the log"
    report = (user.home / "scrapyd" / "job" / "report" / "report.html").read_text(encoding="utf-8")
    assert f"it fetched {len(user.web.web.expected_urls())} pages" in report
    assert "and ran 2 times" in report


def test_the_document_leads_to_items(user: User) -> None:
    """Deploy, schedule, look, stop, resume: every page once, in one file. (Installed is what requirements-dev has.)"""
    (user.checkout / ".venv").symlink_to(sys.prefix)
    packages = re.findall(r"'(.*?)'", user.commands["Install"][-1])
    assert set(packages) <= set((ROOT / "requirements-dev.txt").read_text(encoding="utf-8").splitlines())
    follow(user)


@pytest.mark.long
def test_several_workers(user: User, redis_server: RunningRedis) -> None:
    """Three jobs share a crawl: one is cancelled, then all; two others end it. Every page once, in one of the files."""
    (user.checkout / ".venv").symlink_to(sys.prefix)
    user.redis_url = redis_server.url
    client = redis_server.client()
    with user.scrapyd():
        user.type("Deploy")
        assert user.type("Start the workers", "-d setting=DOWNLOAD_DELAY=5").count('"status": "ok"') == 3
        until(lambda: client.hlen("{web}:workers") == 3)
        until(lambda: len(fetches(user.web.records())) > 4)
        shown = user.type("Look at the workers")
        assert "Spider opened" in shown
        assert re.search(r"^workers alive +3$", shown, re.MULTILINE)
        assert '"prevstate": "running"' in user.type("Stop one worker")
        until(lambda: user.state("worker1") == "finished")
        assert (user.state("worker2"), user.state("worker3")) == ("running", "running")
        assert "finish_reason shutdown" in user.log("worker1")
        assert user.type("Stop all workers").count('"prevstate": "running"') == 2
        until(lambda: user.state("worker2") == user.state("worker3") == "finished")
        assert client.hlen("{web}:workers") == 0
        first = user.items("worker*.jsonl")
        assert 0 < len(first) < len(user.web.web.expected_urls())
        user.type("Resume with any number of workers")
        until(lambda: user.state("worker4") == user.state("worker5") == "finished")
    assert sorted(user.items("worker*.jsonl")) == sorted(user.web.web.expected_urls())
    for job in ("worker4", "worker5"):
        assert "finish_reason finished" in user.log(job)


@pytest.mark.long
def test_the_document_leads_from_nothing_to_items(user: User) -> None:
    """With its first section: a new environment, by pip."""
    user.type("Install")
    follow(user)
