"""Runs many command lines of ``scrapy`` in one go: imports once, then a process of its own for each."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]

_PARENT = """
import json, os, sys
from pathlib import Path
import scrapy.cmdline
import crawlproject.addon, crawlproject.scheduler, crawlproject.spiders.web, crawlproject.commands.crawl
folder, commands = Path(sys.argv[1]), json.loads(sys.argv[2])
for number, command in enumerate(commands):
    child = os.fork()
    if not child:
        with (folder / f"{number}.log").open("wb") as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
        scrapy.cmdline.execute(["scrapy", *command])
        sys.exit(0)
    _, status = os.waitpid(child, 0)
    (folder / f"{number}.code").write_text(str(os.waitstatus_to_exitcode(status)))
"""


class Done(NamedTuple):
    """What came of a command line."""

    code: int
    log: str

    @property
    def errors(self) -> list[str]:
        """The messages of lines at ERROR and above."""
        lines = [line for line in self.log.splitlines() if "] ERROR: " in line or "] CRITICAL: " in line]
        return [line.split("] ", 1)[1].split(": ", 1)[1] for line in lines]


def scrapy(folder: Path, *commands: list[str]) -> list[Done]:
    """Run each; ``folder`` is for their logs."""
    command = [sys.executable, "-W", "ignore", "-c", _PARENT, str(folder), json.dumps(commands)]
    environment = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, timeout=500)
    return [
        Done(int((folder / f"{number}.code").read_text()), (folder / f"{number}.log").read_text())
        for number in range(len(commands))
    ]
