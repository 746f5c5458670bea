"""The browser's life: it is started once, again after a crash, and leaves no process behind."""

import json
import signal
import subprocess
import threading
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.crawl.crawling import IMPOLITE, crawling, read_results
from tests.crawl.scripted_site import Answer, Asked, Site, scripted_site
from tests.processes import Forked

pytestmark = pytest.mark.long

WEB = "crawlproject.spiders.web.WebSpider"
HTML = {"Content-Type": "text/html"}
SCRIPT = "fetch('/api' + location.pathname).then(r => r.text()).then(t => { document.body.innerHTML = t })"
SHELL = Answer(f"<title>shell</title><body><script>{SCRIPT}</script></body>", headers=HTML)

#: Seconds for processes to end.
PATIENCE = 60.0


def processes_of(crawl: Forked) -> list[psutil.Process]:
    return psutil.Process(crawl.pid).children(recursive=True)


def browser_of(crawl: Forked) -> psutil.Process:
    """The first process of the browser, which may have been started by a script with the same arguments."""
    found = [one for one in processes_of(crawl) if "--remote-debugging-pipe" in arguments(one)]
    found = [one for one in found if "--type=" not in arguments(one)]
    starters = {one.ppid() for one in found}
    return next(one for one in found if one.pid not in starters)


def arguments(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except psutil.Error:
        return ""


def driver_of(crawl: Forked) -> psutil.Process:
    return next(one for one in processes_of(crawl) if "run-driver" in arguments(one))


def assert_ended(processes: list[psutil.Process]) -> None:
    """All of them; one that only waits for its parent to notice has ended."""
    _, alive = psutil.wait_procs(processes, timeout=PATIENCE)
    running = [one for one in alive if one.is_running() and one.status() != psutil.STATUS_ZOMBIE]
    assert running == [], [arguments(one) for one in running]


class Held:
    """A site of pages, one of whose API's answers waits until ``release`` is set."""

    def __init__(self, pages: int, held: str) -> None:
        self.release = threading.Event()
        self.asked = threading.Event()
        self._held = held
        links = "".join(f"<a href=/{number}>x</a>" for number in range(pages))
        self.script: dict[str, Any] = {"1/": SHELL, "1/api/": Answer(f"start {links}", headers=HTML)}
        for number in range(pages):
            self.script[f"1/{number}"] = SHELL
            self.script[f"1/api/{number}"] = self._answer

    def _answer(self, asked: Asked) -> Answer:
        if asked.path == self._held and not self.release.is_set():
            self.asked.set()
            self.release.wait(PATIENCE)
        return Answer(f"<p>text of {asked.path}</p>", headers=HTML)


def settings(**more: Any) -> dict[str, Any]:
    return {**IMPOLITE, "FRONTIER_RENDER": "always", "LOG_LEVEL": "INFO", **more}


def finished(site: Site, crawl: Forked, folder: Path) -> Any:
    crawl.wait(PATIENCE * 2)
    return read_results(folder, crawl.returncode or 0, "")


@pytest.mark.parametrize("victim", ["browser", "driver", "page"])
def test_what_is_killed_is_started_again(chromium: str, tmp_path: Path, victim: str) -> None:
    """The page in progress is tried again, and all pages are rendered."""
    held = Held(6, "/api/2")
    with scripted_site(1) as site:
        site.script = held.script
        with crawling(WEB, tmp_path, settings=settings(), seeds=site.url("1/"), body="1") as crawl:
            assert held.asked.wait(PATIENCE)
            before = processes_of(crawl)
            if victim == "page":
                for one in before:
                    if "--type=renderer" in arguments(one):
                        one.kill()
            else:
                (browser_of(crawl) if victim == "browser" else driver_of(crawl)).kill()
            held.release.set()
            result = finished(site, crawl, tmp_path)
            assert_ended(before)
    assert result.stat("finish_reason") == "finished"
    assert result.stat("render/pages") == 7, {name: count for name, count in result.stats.items() if "render" in name}
    assert result.stat("render/retries") >= 1
    assert all("text of" in item["body"] for item in result.items if not item["url"].endswith("/"))


@pytest.mark.parametrize("how", ["interrupt", "interrupt twice", "terminate", "kill"])
def test_no_process_is_left_behind(chromium: str, tmp_path: Path, how: str) -> None:
    """However the crawl is ended."""
    held = Held(6, "/api/2")
    with scripted_site(1) as site:
        site.script = held.script
        with crawling(WEB, tmp_path, settings=settings(), seeds=site.url("1/")) as crawl:
            assert held.asked.wait(PATIENCE)
            before = processes_of(crawl)
            assert len(before) >= 4
            driver = driver_of(crawl)
            if how == "kill":
                crawl.send_signal(signal.SIGKILL)
            else:
                if how.startswith("interrupt"):
                    driver.send_signal(signal.SIGINT)  # a terminal sends it to all
                crawl.send_signal(signal.SIGTERM if how == "terminate" else signal.SIGINT)
                if how == "interrupt twice":
                    try:
                        crawl.wait(2.0)
                    except subprocess.TimeoutExpired:
                        crawl.send_signal(signal.SIGINT)
            held.release.set()
            crawl.wait(PATIENCE * 2)
            assert_ended(before)
    if how in ("interrupt", "terminate"):
        stats = json.loads((tmp_path / "stats.json").read_text())
        assert stats["finish_reason"] == "shutdown"
        assert stats.get("render/failed/crashed", 0) == 0  # the page in progress was rendered to its end


def test_no_process_is_left_after_a_crawl(chromium: str, tmp_path: Path) -> None:
    """That ended by itself; each page had a context of its own."""
    held = Held(6, "/api/2")
    with scripted_site(1) as site:
        site.script = held.script
        more = settings(FRONTIER_RENDER_PAGES=1)
        with crawling(WEB, tmp_path, settings=more, seeds=site.url("1/")) as crawl:
            assert held.asked.wait(PATIENCE)
            before = processes_of(crawl)
            held.release.set()
            result = finished(site, crawl, tmp_path)
            assert_ended(before)
    assert result.stat("render/pages") == 7
    assert result.stat("playwright/browser_count") == 1
    assert result.stat("playwright/context_count") == 7
    assert result.stat("playwright/context_count/max_concurrent") == 1
