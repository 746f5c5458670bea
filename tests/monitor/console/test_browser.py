"""The console in a real browser, while a crawl of the emulated web runs: every action, looks, accessibility."""

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from testbed.children import free_port
from testbed.redis_server import RunningRedis
from testbed.web import WebSpec, running_web
from tests.crawl.crawling import crawling
from tests.crawl.scripted_site import Answer, scripted_site
from tests.crawl.test_console import SPIDER, Everywhere, is_open, open_console, settings_of
from tests.crawl.workers import redis_settings, workers
from tests.monitor.browser import faults
from tests.monitor.console.client import Client
from tests.waiting import until

pytestmark = pytest.mark.long

sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")

SIZES = [(1280, "light"), (1280, "dark"), (390, "light"), (390, "dark")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("chromium is not installed")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextmanager
def opened(browser: Browser, client: Client, width: int = 1280, scheme: Any = "light") -> Iterator[Page]:
    """The console's page, which must log no error."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    context.set_default_timeout(60_000)
    page = context.new_page()
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("console", lambda message: errors.append(message.text) if message.type == "error" else None)
    page.goto(f"http://127.0.0.1:{client.port}/#token={client.token}")
    page.wait_for_selector("#servers tbody tr")
    yield page
    context.close()
    # wrong arguments; asked after the crawl had ended; an action without Redis
    wanted = ("400 (Bad Request)", "ERR_CONNECTION_REFUSED", "503 (Service Unavailable)")
    assert [error for error in errors if not any(each in error for each in wanted)] == []


@contextmanager
def crawl_of_one_site(folder: Path) -> Iterator[Client]:
    job, port = folder / "job", free_port()
    with scripted_site(1) as site:
        site.script = Everywhere()
        with crawling(SPIDER, folder, settings=settings_of(job, port), sites=site.origins[0]) as process:
            yield open_console(process, job, port)


def wait_in(page: Page, expression: str) -> None:
    """Return as soon as ``expression`` is true in ``page``, whose policy forbids that it waits itself."""
    until(lambda: page.evaluate(expression))


@pytest.fixture(scope="module")
def crawl(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A crawl of the emulated web, slow enough to be watched."""
    folder = tmp_path_factory.mktemp("console")
    job, port = folder / "job", free_port()
    spec = WebSpec(servers=40, pages=20_000, time_scale=1.0)
    settings = settings_of(job, port, ROBOTSTXT_OBEY=True, CLOSESPIDER_TIMEOUT=500)
    spider = "crawlproject.spiders.web.WebSpider"
    with running_web(spec) as web, crawling(spider, folder, settings=settings, seeds=",".join(web.seeds)) as process:
        yield open_console(process, job, port)


@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_looks(browser: Browser, crawl: Client, width: int, scheme: str, tmp_path: Path) -> None:
    """Nothing is wider than the screen, no chart is blank, no text lies on another; the screenshots are kept."""
    with opened(browser, crawl, width, scheme) as page:
        wait_in(page, "document.querySelectorAll('#charts canvas').length >= 5")
        wait_in(page, INKED)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(OVERLAPS) == []
        page.screenshot(path=tmp_path / f"{width}-{scheme}.png", full_page=True)
        page.click("#servers tbody button")
        page.wait_for_selector("#server[open] table")
        assert page.evaluate("document.querySelector('#server').scrollWidth") <= width
        page.screenshot(path=tmp_path / f"{width}-{scheme}-server.png")
        assert page.evaluate("getComputedStyle(document.body).colorScheme") in ("normal", "light dark")


#: Whether each canvas has pixels of more than two colours.
INKED = """() => [...document.querySelectorAll('#charts canvas')].every((canvas) => {
  const pixels = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer);
  return new Set(pixels).size > 3;
})"""

#: Tables of which a part can only be seen by scrolling sideways.
CUT = """() => [...document.querySelectorAll('.scroll')].filter((each) => each.scrollWidth > each.clientWidth)
  .map((each) => each.getAttribute('aria-label') || each.innerText.slice(0, 50))"""

#: Pairs of neighbouring blocks that overlap.
OVERLAPS = """(() => {
  const found = [];
  for (const group of ['main > section', '#figures > div', '#charts > figure', '.actions > *', 'header > *']) {
    const boxes = [...document.querySelectorAll(group)].map((each) => each.getBoundingClientRect())
      .filter((box) => box.width && box.height);
    boxes.forEach((one, at) => boxes.slice(at + 1).forEach((two) => {
      const apart = one.right <= two.left + 1 || two.right <= one.left + 1 || one.bottom <= two.top + 1
        || two.bottom <= one.top + 1;
      if (!apart) found.push([group, one.toJSON(), two.toJSON()]);
    }));
  }
  return found;
})()"""


@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_accessibility(browser: Browser, crawl: Client, width: int, scheme: str) -> None:
    """axe-core finds nothing serious, neither in the page nor in a server's."""
    pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed")
    rules = next(path for path in files("axe_playwright_python").iterdir() if path.name == "axe.min.js")
    with opened(browser, crawl, width, scheme) as page:
        page.wait_for_selector("#charts canvas")
        for opener in (None, "#servers tbody button"):
            if opener:
                page.click(opener)
                page.wait_for_selector("#server[open] table")
            page.evaluate(rules.read_text(encoding="utf-8"))
            found = page.evaluate("axe.run()")["violations"]
            serious = [each for each in found if each["impact"] in ("serious", "critical")]
            assert not serious, json.dumps(serious, indent=1)[:3000]


def test_sort_search_and_turn_pages(browser: Browser, crawl: Client) -> None:
    """The server sorts, searches and pages."""
    with opened(browser, crawl) as page:
        wait_in(page, "document.querySelectorAll('#servers tbody tr').length >= 40")
        page.click("th >> text=server")
        page.wait_for_selector("th[aria-sort=ascending]")
        keys = page.locator("#servers tbody tr td:first-child").all_inner_texts()
        assert keys == sorted(keys)
        page.click("th >> text=server")
        page.wait_for_selector("th[aria-sort=descending]")
        page.fill("#search-text", "127.1.0.7:")
        page.click("#search button")
        wait_in(page, "document.querySelectorAll('#servers tbody tr').length == 1")
        page.fill("#search-text", "nothing like this")
        page.click("#search button")
        wait_in(page, "document.querySelector('#servers-caption').textContent.startsWith('No server')")


def test_every_action(browser: Browser, crawl: Client) -> None:
    """Each does what it says; two open pages see it; stopping asks first, and ends both."""
    with opened(browser, crawl) as page, opened(browser, crawl, 390) as other:
        page.click("#pause")
        other.wait_for_selector("#state[data-state=paused]")
        wait_in(other, "document.querySelector('#figures').textContent.includes('Endsunknown: the crawl is paused')")
        other.click("#resume")
        page.wait_for_selector("#state[data-state=running]")
        page.fill("#sessions-limit", "5")
        page.click("#sessions-form button")
        wait_in(other, "document.querySelector('#sessions-limit').value === '5'")
        key = page.locator("#servers tbody button").first.inner_text()
        page.fill("#server-name", key)
        page.fill("#delay-seconds", "7.5")
        for action, words in (
            ("delay", "7.5 s between two requests"),
            ("block", "is blocked"),
            ("release", "is released from the guard"),
        ):
            page.click(f"#server-form button[value={action}]")
            other.wait_for_selector(f"#orders li:has-text('{words}')")
        other.click("#orders button:has-text('Unblock')")
        page.wait_for_selector("#orders li:has-text('is blocked')", state="detached")
        page.fill("#server-name", "not a name")
        page.click("#server-form button[value=block]")
        page.wait_for_selector("#message.wrong:has-text('not a server')")
        page.fill("#seeds", "http://127.1.0.3:1/one\nnot a URL")
        page.click("#seeds-form button")
        page.wait_for_selector("#message:has-text('1 new, 1 refused')")
        page.fill("#seeds", "\n".join(f"http://127.1.0.3:1/{number}?{'x' * 100}" for number in range(1_000)))
        page.click("#seeds-form button")  # more than one request takes
        page.wait_for_selector("#message:text-is('1000 new')")
        assert page.input_value("#seeds") == ""
        page.click("#stop")
        page.click("#confirm button[value=no]")
        assert crawl.get("state")["figures"]["closing"] is False
        page.click("#stop")
        page.click("#confirm button[value=yes]")
        for each in (page, other):
            each.wait_for_selector("#state[data-state=ended]")
            assert each.is_disabled("#pause")


@contextmanager
def consoles(
    folder: Path, redis_server: RunningRedis, *, count: int, servers: int, pages: int
) -> Iterator[list[Client]]:
    """The consoles of ``count`` workers that have fetched at least ``pages`` pages of a web."""
    token, ports = "t" * 20, [free_port() for _ in range(count)]
    settings = redis_settings(redis_server.url, FRONTIER_CONSOLE_TOKEN=token)
    spec = WebSpec(servers=servers, pages=4_000, time_scale=1.0)
    with running_web(spec) as web, workers(folder, web, **settings) as crew:
        for port in ports:
            crew.add(FRONTIER_CONSOLE_PORT=port)
        crew.wait_for_pages(pages)
        clients = [Client(port, token) for port in ports]
        until(lambda: all(is_open(each) and each.get("servers")["rows"] for each in clients))
        yield clients


def test_an_action_on_one_page_is_seen_on_that_of_another_worker(
    browser: Browser, tmp_path: Path, redis_server: RunningRedis
) -> None:
    """Pause at one worker pauses the other; both pages tell how many workers have applied it."""
    with (
        consoles(tmp_path, redis_server, count=2, servers=20, pages=1) as (one, two),
        opened(browser, one) as page,
        opened(browser, two, 390) as other,
    ):
        page.click("#pause")
        other.wait_for_selector("#state[data-state=paused]")
        for each in (page, other):
            each.wait_for_selector("#applied:has-text('(the crawl is paused) is applied by 2 of 2 workers')")
            assert each.locator("#actions-list tbody tr").count() == 1
            assert each.evaluate("document.documentElement.scrollWidth") <= each.viewport_size["width"]
        assert page.locator("#workers tbody tr:has-text('(this page)')").count() == 1
        assert faults(page) == []
        assert faults(other) == []
        other.click("#resume")
        page.wait_for_selector("#state[data-state=running]")
        page.wait_for_selector("#applied:has-text('Action 2 (the crawl continues) is applied by 2 of 2 workers')")
        redis_server.kill()
        page.click("#pause")
        page.wait_for_selector("#message.wrong:has-text('Redis does not answer')")
        assert one.get("state")["figures"]["paused"] is False


def test_the_room_of_several_workers(browser: Browser, tmp_path: Path, redis_server: RunningRedis) -> None:
    """The workers' section, and a server's page over it: nothing serious, too wide or overlapping, at each size."""
    with consoles(tmp_path, redis_server, count=3, servers=40, pages=200) as clients:
        until(lambda: len(clients[0].get("workers")["workers"]) == len(clients))
        clients[0].post("pause")
        clients[0].post("delay", name="127.1.0.7", seconds=30)
        clients[1].post("block", name=clients[1].get("servers")["rows"][0]["server"])
        for width, scheme in SIZES:
            with opened(browser, clients[0], width, scheme) as page:
                page.wait_for_selector("#actions-list tbody tr:nth-child(3):has-text('3 of 3')")
                page.wait_for_selector("#workers tbody tr:nth-child(3)")
                wait_in(page, INKED)
                assert page.evaluate("document.documentElement.scrollWidth") <= width
                assert page.evaluate(OVERLAPS) == []
                assert faults(page, "#workers-section") == []
                assert "the crawl is paused" in page.locator("#workers caption").inner_text()
                assert width < 1280 or page.evaluate(CUT) == []
                page.screenshot(path=tmp_path / f"{width}-{scheme}.png", full_page=True)
                page.locator("#workers-section").screenshot(path=tmp_path / f"{width}-{scheme}-workers.png")
                page.click("#servers tbody button")
                page.wait_for_selector("#server[open] table")
                assert page.evaluate("document.querySelector('#server').scrollWidth") <= width
                assert faults(page, "#server") == []
                page.screenshot(path=tmp_path / f"{width}-{scheme}-server.png")


def test_without_a_token_nothing_is_shown(browser: Browser, tmp_path: Path) -> None:
    """The page asks for it; a right one opens the room."""
    with crawl_of_one_site(tmp_path) as client:
        page = browser.new_page()
        page.goto(f"http://127.0.0.1:{client.port}/#token=wrong")
        page.wait_for_selector("#login:not([hidden])")
        assert (
            not page.is_visible("#pause") or page.evaluate("document.querySelector('#figures').childElementCount") == 0
        )
        page.fill("#token", client.token)
        page.click("#login button")
        page.wait_for_selector("#servers tbody tr")
        assert "token" not in page.url
        page.close()


def test_strangers_texts_are_shown_as_text(browser: Browser, tmp_path: Path) -> None:
    """Script tags, quotes, marks of direction and very long texts, in URLs, errors, robots.txt and the log."""
    job, port = tmp_path / "job", free_port()
    evil = "<img src=x onerror=\"document.title='broken'\">'\"&\u202etxt.exe"
    robots = f"User-agent: *\nDisallow: /{evil}\n" + "#" + "x" * 1_000_000
    with scripted_site(1) as site:
        anchors = "".join(f'<a href="/{number}?q={evil}">x</a>' for number in range(3))
        long = f'<a href="/{"y" * 1900}">x</a>'
        body = f"<html><head><title>{evil * 20_000}</title></head><body>{anchors}{long}</body></html>"
        html = {"Content-Type": "text/html; charset=utf-8"}
        site.script = {
            "/robots.txt": Answer(robots.encode(), headers={"Content-Type": "text/plain"}),
            "1/": Answer(body.encode(), headers=html),
        }
        settings = settings_of(job, port, DOWNLOAD_DELAY=1)
        spider = "crawlproject.spiders.web.WebSpider"
        with crawling(spider, tmp_path, settings=settings, seeds=f"{site.origins[0]}/") as process:
            client = open_console(process, job, port)
            with opened(browser, client) as page:
                client.post("pause")
                for bad in (evil, "x" * 5000):
                    client.send("POST", "/api/block", json.dumps({"name": bad}).encode())
                page.click("#servers tbody button")
                page.wait_for_selector("#server[open] pre")
                text = page.inner_text("#server")
                assert "onerror" in text
                assert "\u202e" not in text
                assert page.evaluate("document.querySelectorAll('#server img, #server script').length") == 0
                assert page.evaluate("document.documentElement.scrollWidth") <= 1280
                assert "broken" not in page.title()


def test_a_page_whose_other_requests_fail_sees_the_end(browser: Browser, tmp_path: Path) -> None:
    """When the crawl ends, the stream says so, and soon nothing else is answered."""
    with crawl_of_one_site(tmp_path) as client:
        page = browser.new_page()
        page.route("**/api/log", lambda route: route.abort())
        page.goto(f"http://127.0.0.1:{client.port}/#token={client.token}")
        page.wait_for_selector("#state[data-state=running]")
        client.post("stop")
        page.wait_for_selector("#state[data-state=ended]")
        assert page.locator("button:enabled").count() == 1  # the one that closes a server's page
        page.close()
