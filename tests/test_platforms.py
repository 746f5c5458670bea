"""What only Linux has is not needed by ``scrapy crawl``; without it, and on Windows, one line says what to do."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from testbed.web import WebSpec, running_web
from tests.processes import HUNG

ROOT = Path(__file__).resolve().parents[1]

#: ``scrapy`` as on macOS, as far as Python's own modules go: without what they have on Linux only.
WITHOUT = """
import os, select, signal, socket, sys
import psutil
for module, names in {
    os: ("memfd_create", "sched_getaffinity", "sched_setaffinity", "pidfd_open", "fdatasync", "posix_fadvise",
         "posix_fallocate", "copy_file_range", "splice", "eventfd", "getrandom", "O_TMPFILE", "O_DIRECT", "getxattr"),
    signal: ("sigtimedwait", "sigwaitinfo", "SIGRTMIN", "SIGPWR"),
    socket: ("TCP_INFO", "TCP_QUICKACK", "TCP_USER_TIMEOUT", "SO_BINDTODEVICE", "AF_NETLINK", "SOCK_CLOEXEC"),
    select: ("epoll",),
}.items():
    for name in names:
        vars(module).pop(name, None)
from scrapy.cmdline import execute
"""

CRAWL = """
execute(["scrapy", *sys.argv[1:]])
"""

#: Each prints its exit code.
WORKERS = """
for argument in ("web", "--help"):
    if os.fork() == 0:
        execute(["scrapy", "workers", argument])
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
"""

WINDOWS = """
import sys, scrapy.core.scraper, scrapy.core.downloader.handlers
sys.platform = "win32"
import crawlproject.compat
"""


def scrapy(program: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "SCRAPY_SETTINGS_MODULE": "crawlproject.settings"}
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=HUNG, check=False)


def test_a_crawl_needs_nothing_that_only_linux_has(tmp_path: Path) -> None:
    """With a store, a report and a repository of pages."""
    with running_web(WebSpec(servers=4, pages=40, time_scale=0)) as web:
        settings = (
            "FRONTIER_ALLOWED_NETWORKS=127.0.0.0/8",
            "DOWNLOAD_DELAY=0",
            "JOBDIR=job",
            "FRONTIER_REPOSITORY_DIR=pages",
        )
        line = ["crawl", "web", "-a", f"seeds={','.join(web.seeds)}", "-O", "pages.jsonl"]
        done = scrapy(WITHOUT + CRAWL, *line, *(part for setting in settings for part in ("-s", setting)), cwd=tmp_path)
        expected = len(web.web.expected_urls())
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert len((tmp_path / "pages.jsonl").read_text(encoding="utf-8").splitlines()) == expected


def test_workers_say_that_they_need_linux(tmp_path: Path) -> None:
    """In one line; the command's help works."""
    done = scrapy(WITHOUT + WORKERS, cwd=tmp_path)
    codes = done.stdout.splitlines()
    assert (codes[0], codes[-1]) == ("2", "0")
    assert done.stderr.splitlines()[-1].endswith("needs Linux; scrapy crawl works here")
    assert "Traceback" not in done.stderr


def test_windows_is_told_of_wsl(tmp_path: Path) -> None:
    """In one line."""
    done = scrapy(WINDOWS, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == "crawlproject needs Linux or macOS: on Windows use WSL\n"
