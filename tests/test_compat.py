"""The supported versions of Scrapy, and what is used of the one that runs."""

from __future__ import annotations

import os
import ssl
import sys
import textwrap
from pathlib import Path
from subprocess import run
from typing import Any

import pytest
import scrapy
from scrapy.core.downloader import Downloader
from scrapy.core.engine import ExecutionEngine
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from crawlproject import compat
from crawlproject.download.downloader import ActiveRequests
from crawlproject.options.project_rules import ADDON
from tests.processes import HUNG

ROOT = Path(__file__).resolve().parents[1]


def test_this_scrapy_has_all_that_is_used() -> None:
    """Of the engine, the downloader and the scraper."""
    assert compat.missing_names(compat.USED) == []
    assert compat.missing_names(compat.USED_BY_LANE) == []


def test_a_missing_name_is_found() -> None:
    """Of a class or of what its constructor sets."""

    class Engine(ExecutionEngine):
        def __init__(self) -> None:
            self.own = 1

    assert compat.missing_names({Engine: ("own", "_slot", "close_spider_async", "gone")}) == ["Engine.gone"]
    assert compat.missing_names({Downloader: ("active", "_lost")}) == ["Downloader._lost"]


def test_a_missing_name_stops_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line; one of the fast lane only closes it."""
    monkeypatch.setitem(compat.USED, Downloader, ("_lost",))
    with pytest.raises(
        ValueError, match=rf"^Scrapy {scrapy.__version__} has no Downloader._lost: use another version$"
    ):
        get_crawler(settings_dict={"ADDONS": {ADDON: 300}})
    monkeypatch.setitem(compat.USED_BY_LANE, Downloader, ("_lost",))
    reason = compat.closes_lane()
    assert reason is not None
    assert compat.VERSION < (2, 16) or "Downloader._lost" in reason


def test_a_download_handler_that_cannot_be_imported_stops_the_start() -> None:
    """Scrapy would log it, and the crawl would find every robots.txt unavailable."""
    settings = {"ADDONS": {ADDON: 300}, "DOWNLOAD_HANDLERS": {"https": "nowhere.Handler"}}
    with pytest.raises(ValueError, match=r"DOWNLOAD_HANDLERS\['https'\]='nowhere.Handler': No module named 'nowhere'"):
        get_crawler(settings_dict=settings)


#: Scrapys of other versions, as far as the add-on's imports go; commands in a process each, and their exit codes.
OTHER_VERSIONS = """
    import os, sys, scrapy.cmdline
    for minor in (13, 21):
        scrapy.version_info, scrapy.__version__ = (2, minor, 4), f"2.{minor}.4"
        for arguments in (["crawl", "any"], ["settings", "--get", "BOT_NAME"]):
            if (pid := os.fork()) == 0:
                scrapy.cmdline.execute(["scrapy", *arguments])
            print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


def test_other_versions_of_scrapy_are_refused_in_one_line(tmp_path: Path) -> None:
    """Where the add-on is used; commands of Scrapy work without it."""
    (tmp_path / "own.py").write_text(f"ADDONS = {{{ADDON!r}: 300}}\n", encoding="utf-8")
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{tmp_path}", "SCRAPY_SETTINGS_MODULE": "own"}
    line = [sys.executable, "-c", textwrap.dedent(OTHER_VERSIONS)]
    done = run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=HUNG, check=True)
    errors = [f"crawlproject needs Scrapy 2.14 to 2.20, found 2.{minor}.4" for minor in (13, 21)]
    assert done.stderr.splitlines() == errors
    assert [line for line in done.stdout.splitlines() if line.isdecimal()] == ["1", "0", "1", "0"]


@pytest.mark.parametrize(
    ("settings", "verifies", "least"),
    [
        ({}, False, ssl.TLSVersion.MINIMUM_SUPPORTED),
        ({"DOWNLOAD_VERIFY_CERTIFICATES": True}, True, ssl.TLSVersion.MINIMUM_SUPPORTED),
        ({"DOWNLOAD_TLS_MIN_VERSION": "TLSv1.2"}, False, ssl.TLSVersion.TLSv1_2),
    ],
)
def test_the_tls_context_is_by_the_settings_of_scrapy(settings: dict[str, Any], verifies: bool, least: int) -> None:
    """Old servers are contacted, unless certificates are verified."""
    context = compat.tls_context(Settings(settings))
    assert context.check_hostname is verifies
    assert (context.verify_mode is ssl.CERT_REQUIRED) is verifies
    assert bool(context.options & 0x4) is not verifies
    assert context.minimum_version in (least, ssl.create_default_context().minimum_version)
    with pytest.raises(ValueError, match="DOWNLOAD_TLS_MAX_VERSION='TLSv9'"):
        compat.tls_context(Settings({**settings, "DOWNLOAD_TLS_MAX_VERSION": "TLSv9"}))


def test_active_requests_note_the_end_however_they_leave() -> None:
    """Scrapy removes them; a later version may discard them."""
    active, one, other = (
        ActiveRequests(lambda _: None),
        scrapy.Request("http://a.example/1"),
        scrapy.Request("http://a.example/2"),
    )
    active.update((one, other))
    active.discard(one)
    active.discard(one)
    active.remove(other)
    assert active.take_ended() == [one, other]
    assert not active
