"""The commands of docs/console.md, as they are typed, against a crawl of a web on loopback."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from testbed.web import WebSpec, running_web
from tests.conftest import free_port
from tests.crawl.test_console import open_console
from tests.processes import run_python, running

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "console.md").read_text(encoding="utf-8")


def test_the_commands_run(tmp_path: Path) -> None:
    """The crawl logs what the page shows; each command does what it says; the last one typed ends the crawl."""
    for program in ("bash", "curl"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    job, port = tmp_path / "job", free_port()
    blocks = re.findall(r"^```console\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    text = "".join(blocks).replace("crawls/example", str(job)).replace("6080 6081 6082 6083", str(port))
    crawl, shown, *commands = text.replace("6080", str(port)).splitlines()
    assert len(commands) == 7
    with running_web(WebSpec(servers=20, pages=4_000, time_scale=0.05)) as web, tempfile.TemporaryFile() as log:
        line = shlex.split(crawl.removeprefix("$ scrapy ").replace("https://example.org/", ",".join(web.seeds)))
        with running(["-m", "scrapy", *line, "-s", "ALLOWED_NETWORKS=127.0.0.0/8"], stderr=log) as process:
            client = open_console(process, job, port)

            def is_paused() -> bool:
                return bool(client.get("state")["orders"]["paused"])

            status, pause, resume, stop, *shell = (command.removeprefix("$ ") for command in commands)
            assert json.loads(_scrapy(status))["spider"] == "web"
            assert json.loads(_scrapy(pause))["kept"]
            assert is_paused()
            _scrapy(resume)
            assert not is_paused()
            out = _bash([each.replace("the-token-that-was-set", client.token) for each in shell], client.token)
            assert is_paused()
            assert '"rows":' in out
            _scrapy(stop)
            assert process.wait(120) == 0
        log.seek(0)
        expected = re.escape(shown).replace(r"\.\.\.", ".*").replace("q0…", r"[\w-]{40,}")
        assert re.search(expected, log.read().decode())


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
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
