"""The commands of the console in docs/watch.md, as they are typed, against a crawl of a web on loopback."""

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from testbed.children import free_port
from testbed.web import WebSpec, running_web
from tests.crawl.test_console import open_console
from tests.monitor.console.client import client_of
from tests.pages import blocks, page
from tests.processes import HUNG, run_python, running
from tests.waiting import until

BLOCKS = blocks(page("watch.md").split("\n## The console\n")[1].split("\n## ")[0])


def test_the_commands_run(tmp_path: Path) -> None:
    """The crawl logs what the page shows; each command does what it says; the last one typed ends the crawl."""
    for program in ("bash", "curl"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    job, port = tmp_path / "job", free_port()
    text = "".join(block for block in BLOCKS if "scrapy workers" not in block)
    text = text.replace("crawls/example", str(job))
    crawl, shown, *commands = text.replace("6080", str(port)).splitlines()
    assert len(commands) == 5
    with running_web(WebSpec(servers=20, pages=4_000, time_scale=0.05)) as web, tempfile.TemporaryFile() as log:
        line = shlex.split(crawl.removeprefix("$ scrapy ").replace("https://example.org/", ",".join(web.seeds)))
        with running(["-m", "scrapy", *line, "-s", "FRONTIER_ALLOWED_NETWORKS=127.0.0.0/8"], stderr=log) as process:
            client = open_console(process, job, port)

            def is_paused() -> bool:
                return bool(client.get("state")["orders"]["paused"])

            status, pause, resume, stop, *shell = (command.removeprefix("$ ") for command in commands)
            assert json.loads(_scrapy(status))["crawl"]["spider"] == "web"
            assert json.loads(_scrapy(pause))["kept"]
            assert is_paused()
            _scrapy(resume)
            assert not is_paused()
            assert '"rows":' in _bash(shell, client.token)
            _scrapy(stop)
            assert process.wait(HUNG) == 0
        log.seek(0)
        expected = re.escape(shown).replace(r"\.\.\.", ".*").replace("q0…", r"[\w-]{40,}")
        assert re.search(expected, log.read().decode())


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def test_the_commands_for_several_workers_run(tmp_path: Path, redis_program: Path) -> None:
    """With two workers: one carries an action out, the other obeys, and can be asked alone."""
    [block] = [block for block in BLOCKS if "scrapy workers" in block]
    job = tmp_path / "job"
    port = next(port for port in iter(free_port, 0) if is_free(port + 1))  # each worker has the next one
    text = block.replace("-n 4", "-n 2").replace("=job ", f"={job} ").replace(" job", f" {job}")
    workers, *commands = (line.removeprefix("$ ") for line in text.replace("6080", str(port)).splitlines())
    assert len(commands) == 3
    with running_web(WebSpec(servers=20, pages=4_000, time_scale=0.05)) as web, tempfile.TemporaryFile() as log:
        seeds = tmp_path / "seeds.txt"
        seeds.write_text("\n".join(web.seeds))
        line = shlex.split(workers.replace("seeds.txt", str(seeds)))
        with running(["-m", *line, "-s", "FRONTIER_ALLOWED_NETWORKS=127.0.0.0/8"], stderr=log) as process:
            for number in (1, 2):
                ticket = job / f"worker-{number}" / f"console-{port + number - 1}.json"
                until(ticket.exists, process, lambda: os.pread(log.fileno(), 1 << 20, 0).decode())
            pause, delay, status = commands
            assert list(json.loads(_scrapy(pause))) == list(json.loads(_scrapy(delay))) == ["worker-1"]
            other = client_of(job / "worker-2" / f"console-{port + 1}.json")
            until(lambda: other.get("state")["orders"]["delays"] == {"example.org": 30})
            assert other.get("state")["orders"]["paused"]
            assert json.loads(_scrapy(status))["orders"]["delays"] == {"example.org": 30}
            _scrapy(f"scrapy console {job} stop")
            assert process.wait(HUNG) == 0


def _scrapy(command: str) -> str:
    done = run_python("-m", *shlex.split(command))
    assert done.returncode == 0, done.stderr
    assert isinstance(done.stdout, str)
    return done.stdout


def _bash(lines: list[str], token: str) -> str:
    """Output of all ``lines`` in one shell, where the user has put the token into a variable."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "TOKEN": token}
    command = ["bash", "-euo", "pipefail", "-c", "\n".join(lines)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=HUNG, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
