"""A signal that arrives while Python exits."""

import subprocess
import sys

from tests.crawl.scripted_site import page, scripted_site
from tests.processes import ROOT

NO_CRAWL = """
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
from crawlproject.addon import ignore_late_signals
ignore_late_signals()
"""

#: A global of the main module is deleted when signals have their default action again.
LATE = """
import os, signal, sys
class Late:
    def __init__(self):
        self.kill, self.pid, self.signal = os.kill, os.getpid(), signal.Signals[sys.argv[1]].value
    def __del__(self):
        self.kill(self.pid, self.signal)
late = Late()
"""
CRAWL = """
from scrapy.cmdline import execute
execute(["scrapy", "crawl", "web", "-a", "seeds=" + sys.argv[2], "-s", "FRONTIER_ALLOWED_NETWORKS=127.0.0.0/8"])
"""


def run(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", LATE + code, *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_a_signal_after_the_end_of_a_crawl_does_nothing() -> None:
    """The crawl has ended well, and its exit code says so."""
    with scripted_site() as site:
        site.script = {"1/": page()}
        done = run(CRAWL, "SIGTERM", site.url("1/"))
    assert "Spider closed (finished)" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.returncode == 0


def test_a_process_without_a_crawl_is_left_alone() -> None:
    assert run(NO_CRAWL, "SIGINT").returncode == -2
