"""The console in a real browser, while a crawl of the emulated web runs: every action, looks, accessibility."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
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
from tests.crawl.test_several import SPIDER as ONE_OF_SEVERAL
from tests.crawl.test_several import Chain
from tests.crawl.workers import redis_settings, workers
from tests.monitor.browser import INKED, faults
from tests.monitor.browser import browser as new_browser
from tests.monitor.console.client import Client
from tests.monitor.crawl_files import samples, server, snapshot, write
from tests.waiting import until

pytestmark = pytest.mark.long

SIZES = [(width, scheme) for width in (360, 390, 1280, 1920, 2560) for scheme in ("light", "dark")]

#: Seconds: no machine is so slow that a crawl ends before its block, which ends it.
NEVER = 100_000

#: What is in the address of each view.
VIEWS = ("overview", "servers", "urls", "controls")


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with new_browser() as found:
        yield found


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
    page.wait_for_selector("#hero strong")
    yield page
    context.close()
    # wrong arguments; asked after the crawl had ended, or was killed; an action without Redis
    wanted = ("400 (Bad Request)", "503 (Service Unavailable)", "ERR_CONNECTION_REFUSED", "ERR_CONNECTION_RESET")
    wanted += ("ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_EMPTY_RESPONSE")
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
    settings = settings_of(job, port, ROBOTSTXT_OBEY=True, CLOSESPIDER_TIMEOUT=NEVER)
    spider = "crawlproject.spiders.web.WebSpider"
    with running_web(spec) as web, crawling(spider, folder, settings=settings, seeds=",".join(web.seeds)) as process:
        yield open_console(process, job, port)


def show(page: Page, view: str) -> None:
    """Go to a view by its address, and wait until it shows something."""
    page.evaluate("to => { location.hash = to; }", f"#/{view}")
    name = view.partition("?")[0]
    page.wait_for_selector(f"#view-{name}:not([hidden])")
    page.wait_for_selector(
        {
            "overview": "#charts canvas >> nth=4",
            "servers": "#servers tbody tr",
            "server": "#server-body h3",
            "urls": "#urls tbody tr",
            "url": "#url-body h3",
            "controls": "#limits input >> nth=5",
        }[name]
    )


def show_none(page: Page, search: str) -> None:
    """Search for a URL that there is not."""
    page.evaluate("to => { location.hash = to; }", f"#/urls?search={search}")
    page.wait_for_selector("#urls-caption:has-text('No URL matches')")


def check_looks(page: Page, folder: Path, name: str) -> None:
    """Nothing is wider than the screen, no chart is blank, no text lies on another; the screenshots are kept."""
    width, scheme = page.viewport_size["width"], page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    for view in VIEWS:
        show(page, view)
        if view == "overview":
            wait_in(page, INKED)
        page.wait_for_timeout(50)
        page.screenshot(
            path=folder / f"{name}-{view}-{width}-{'dark' if scheme else 'light'}.png", full_page=view != "urls"
        )
        assert page.evaluate("document.documentElement.scrollWidth") <= width, view
        assert page.evaluate(OVERLAPS) == [], view
        assert page.evaluate(CUT) == [], view
        if name == "running":
            assert faults(page) == [], view


@pytest.mark.parametrize(("width", "scheme"), SIZES)
def test_looks(browser: Browser, crawl: Client, width: int, scheme: str, tmp_path: Path) -> None:
    """All views, and the pages of a server and of a URL; axe-core finds nothing serious."""
    with opened(browser, crawl, width, scheme) as page:
        check_looks(page, tmp_path, "running")
        for view in ("server", "url"):
            show(page, f"{view}s")
            page.click(f"#{view}s tbody a")
            page.wait_for_selector(f"#{view}-body h3")
            assert faults(page, f"#view-{view}") == []
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.evaluate(CUT) == []
            page.screenshot(path=tmp_path / f"running-{view}-{width}-{scheme}.png", full_page=True)


#: What is red of what is visible.
RED = """() => {
  const red = getComputedStyle(document.documentElement).getPropertyValue('--danger').trim();
  const probe = document.body.appendChild(document.createElement('i'));
  probe.style.color = red;
  const shown = getComputedStyle(probe).color;
  probe.remove();
  return [...document.querySelectorAll('header *, main *')]
    .filter((each) => each.offsetParent && getComputedStyle(each).color === shown).map((each) => each.outerHTML);
}"""

#: Tables of which a part can only be seen by scrolling sideways.
CUT = """() => [...document.querySelectorAll('.scroll')].filter((each) => each.scrollWidth > each.clientWidth)
  .map((each) => each.getAttribute('aria-label') || each.innerText.slice(0, 50))"""

#: Pairs of neighbouring blocks that overlap.
OVERLAPS = """(() => {
  const found = [];
  for (const group of ['main > section', '#figures > div', '#hero > div', '#charts > figure', '#parts > *',
    '.actions > *', 'header > *', '.pair']) {
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


def test_looks_paused_ended_and_resumed(browser: Browser, tmp_path: Path) -> None:
    """What holds it back is the pause; an ended crawl is not red, and has no requests in progress; figures of a resumed
    one say of what they are."""
    job, port = tmp_path / "job", free_port()
    spec = WebSpec(servers=20, pages=4_000, time_scale=0.3)
    settings = settings_of(job, port, ROBOTSTXT_OBEY=True, CLOSESPIDER_TIMEOUT=NEVER)
    spider = "crawlproject.spiders.web.WebSpider"
    write(tmp_path / "earlier" / "report", samples(100, 60.0, 4000), snapshot([server(1)], name="earlier"))
    for run in ("first", "resumed"):
        with (
            running_web(spec) as web,
            crawling(spider, tmp_path, settings=settings, seeds=",".join(web.seeds)) as process,
            ExitStack() as stack,
        ):
            client = open_console(process, job, port)
            until(lambda client=client: client.get("state")["figures"]["pages"] >= 50)
            pages = [stack.enter_context(opened(browser, client, *size)) for size in SIZES]
            client.post("pause")
            for page in pages:
                page.wait_for_selector("#state[data-state=paused]")
                page.wait_for_selector("#held button:has-text('Resume')")
                if run == "resumed":
                    page.wait_for_selector("#hero:has-text('in all runs')")
                    check_comparison(page, tmp_path)
                check_looks(page, tmp_path, f"{run}-paused")
            client.post("resume")
            client.post("stop")
            for page in pages:
                page.wait_for_selector("#state[data-state=ended]")
                page.wait_for_selector("#hero:has-text('mean')")
                assert page.evaluate(RED) == []
                assert page.evaluate(OVERLAPS) == []
                assert page.is_visible(f"#over:has-text('scrapy report {job}')")
                assert not page.is_visible("nav")
                scheme = page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'")
                name = f"{run}-ended-{page.viewport_size['width']}-{scheme}.png"
                page.screenshot(path=tmp_path / name, full_page=True)


def check_comparison(page: Page, folder: Path) -> None:
    """Of a crawl that was resumed, and has another one beside it."""
    width, scheme = page.viewport_size["width"], page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    page.click("#to-compare")
    page.wait_for_selector("#compare-with option", state="attached")
    page.click("#compare-form button")
    page.wait_for_selector("#compare-by-pages canvas")
    assert page.locator("#compared tr:has-text('Pages per second') td").count() == 3
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate(CUT) == []
    page.screenshot(path=folder / f"compare-{width}-{'dark' if scheme else 'light'}.png", full_page=True)
    if width in (360, 1280):
        assert faults(page, "main") == []
    page.go_back()
    page.go_back()


def test_addresses_and_the_keyboard(browser: Browser, crawl: Client) -> None:
    """Each view has its own; back and forward go through them; Tab and Enter suffice."""
    with opened(browser, crawl) as page:
        page.focus("nav a >> nth=1")
        page.keyboard.press("Enter")
        page.wait_for_selector("#view-servers:not([hidden]) tbody tr")
        assert page.url.endswith("#/servers")
        assert page.evaluate("document.activeElement.id") == "servers-title"
        key = page.locator("#servers tbody a").first.inner_text()
        page.focus("#servers tbody a >> nth=0")
        page.keyboard.press("Enter")
        page.wait_for_selector("#server-body h3")
        assert page.locator("#server-title").inner_text() == key
        assert page.title().startswith(key)
        page.go_back()
        page.wait_for_selector("#view-servers:not([hidden])")
        page.go_forward()
        page.wait_for_selector("#view-server:not([hidden])")
        page.reload()
        page.wait_for_selector("#server-body h3")
        assert page.locator("nav a[aria-current]").inner_text() == "Servers"


def test_charts(browser: Browser, crawl: Client) -> None:
    """The pointer tells the values of a moment in all charts; a range, and a stretch that is drawn, hold for all."""
    with opened(browser, crawl) as page:
        wait_in(page, "document.querySelectorAll('#charts canvas').length >= 5")
        wait_in(page, "document.querySelector('#charts figure p').textContent.includes('now')")
        page.hover("#charts .u-over >> nth=0")
        wait_in(page, "/^\\d\\d:\\d\\d:\\d\\d: /.test(document.querySelectorAll('#charts figure p')[2].textContent)")
        box = page.locator("#charts .u-over").first.bounding_box()
        page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 30)
        page.mouse.down()
        page.mouse.move(box["x"] + 0.8 * box["width"], box["y"] + 30)
        page.mouse.up()
        page.click("#unzoom")
        assert not page.is_visible("#unzoom")
        for value in ("3600", "all", "300"):
            page.click(f"#range button[value='{value}']")
            page.wait_for_selector(f"#range button[value='{value}'][aria-pressed=true]")


def test_urls(browser: Browser, crawl: Client, tmp_path: Path) -> None:
    """Searched, exported; one with its history; those of a pattern counted, deleted and ordered."""
    with opened(browser, crawl) as page:
        show(page, "urls?search=%2Fp*1&state=queued")
        assert page.input_value("#url-text") == "/p*1"
        found = page.locator("#urls tbody a").all_inner_texts()
        assert found
        assert all("/p" in url and "1" in url.rpartition("/")[2] for url in found)
        with page.expect_download() as download:
            page.click("#urls-csv")
        text = Path(download.value.path()).read_text()
        assert text.startswith('"url","state"')
        page.fill("#pattern", "/p*1")
        page.click("#pattern-form button[value=exclude]")
        page.wait_for_selector("#confirm[open]:has-text('Delete the')")
        page.click("#confirm button[value=no]")
        assert crawl.get("state")["orders"]["patterns"] == []
        page.click("#pattern-form button[value=exclude]")
        page.click("#confirm button[value=yes]")
        page.wait_for_selector("#message:has-text('nothing is fetched of /p*1')")
        until(lambda: crawl.get("urls?search=/p*1&state=queued&count=1")["count"] == 0)
        show(page, "urls?state=lost&reason=excluded")
        page.click("#urls tbody a")
        page.wait_for_selector("#url-body:has-text('those of the settings or the operator')")
        page.click("#url-body button:has-text('Fetch now')")
        page.wait_for_selector("#message:has-text('is fetched next of its server')")
        show(page, "controls")
        page.click("#orders button:has-text('Undo')")
        page.wait_for_selector("#orders li:has-text('none')")
        show_none(page, "nothing+like+this")


def test_every_action(browser: Browser, crawl: Client) -> None:
    """Each does what it says; two open pages see it; stopping asks first, and ends both."""
    with opened(browser, crawl) as page, opened(browser, crawl, 390) as other:
        page.click("#pause")
        other.wait_for_selector("#state[data-state=paused]")
        wait_in(other, "document.querySelector('#progress').textContent.includes('the crawl is paused')")
        other.click("#held button")  # what holds it back, and what changes that
        page.wait_for_selector("#state[data-state=running]")
        show(page, "servers")
        key = page.locator("#servers tbody a").first.inner_text()
        show(page, "controls")
        show(other, "controls")
        page.fill("#limit-sessions", "5")
        page.fill("#limit-pages", "100000")
        page.click("#limits-form button")
        other.wait_for_selector("#orders li:has-text('Connections at once: 5 instead of 64')")
        other.wait_for_selector("#orders li:has-text('Pages of this run: 100,000 instead of no limit')")
        wait_in(other, "document.querySelector('#limit-sessions').value === '5'")
        page.fill("#server-name", key)
        page.fill("#delay-seconds", "7.5")
        for action, words in (
            ("delay", "7.5 s between two requests"),
            ("block", "is blocked"),
            ("release", "is released from the guard"),
        ):
            page.click(f"#server-form button[value={action}]")
            other.wait_for_selector(f"#orders li:has-text('{words}')")
        other.click("#orders li:has-text('is blocked') button")
        page.wait_for_selector("#orders li:has-text('is blocked')", state="detached")
        page.fill("#server-name", "not a name")
        page.click("#server-form button[value=block]")
        page.wait_for_selector("#message.wrong:has-text('not a server')")
        page.fill("#link-pattern", "*")
        page.click("#links-form button[value=exclude]")
        page.click("#confirm button[value=yes]")
        page.wait_for_selector("#message.wrong:has-text('matches every URL')")
        page.fill("#seeds", "http://127.1.0.3:1/one\nnot a URL")
        page.click("#seeds-form button")
        page.wait_for_selector("#message:has-text('1 new, 1 refused')")
        page.wait_for_selector("#seeds-told td:has-text('not a URL')")
        assert page.input_value("#seeds") == "not a URL"
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
            each.wait_for_selector("#state[data-state=ended]:has-text('ended: stopped by operator')")
            assert not each.is_visible("#pause")
        assert "in progress" not in other.inner_text("main")


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


def test_the_room_of_several_workers(browser: Browser, tmp_path: Path, redis_server: RunningRedis) -> None:
    """The first figures are the crawl's; a click shows one worker's, another leads to the next worker's console."""
    with consoles(tmp_path, redis_server, count=4, servers=40, pages=200) as clients:
        until(lambda: len(clients[0].get("workers")["workers"]) == len(clients))
        until(lambda: (clients[0].get("state")["whole"] or {}).get("pages", 0) >= 200)
        clients[0].post("pause")
        clients[0].post("delay", name="127.1.0.7", seconds=30)
        clients[1].post("block", name=clients[1].get("servers")["rows"][0]["server"])
        until(lambda: [each["applied"] for each in clients[0].get("workers")["actions"]] == [4, 4, 4])
        whole = sum(client.get("state")["figures"]["pages"] for client in clients)
        until(lambda: clients[0].get("state")["whole"]["pages"] == whole)
        for width, scheme in SIZES:
            with opened(browser, clients[0], width, scheme) as page:
                page.wait_for_selector("#workers tbody tr:nth-child(4)")
                page.wait_for_selector("#hero:has-text('whole crawl')")
                check_looks(page, tmp_path, "workers")
                show(page, "overview")
                assert faults(page) == []
                assert page.locator("#workers tbody tr:has-text('(this page)')").count() == 1
                assert page.locator("#workers tbody a").count() == 3
                page.click("#scope button[value=worker]")
                page.wait_for_selector("#hero:has-text('this worker')")
                if (width, scheme) == SIZES[-1]:
                    page.click("#workers tbody a >> nth=0")
                    page.wait_for_selector("#hero:has-text('whole crawl')")


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
        page.wait_for_selector("#hero strong")
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
        settings = settings_of(job, port, DOWNLOAD_DELAY=10)
        spider = "crawlproject.spiders.web.WebSpider"
        hostile = snapshot([server(1)], name=evil, settings={evil: evil}, stats={"finish_reason": evil})
        write(tmp_path / "<b>x&amp;'\"" / "report", samples(10, 100.0, 50), hostile)
        with crawling(spider, tmp_path, settings=settings, seeds=f"{site.origins[0]}/") as process:
            client = open_console(process, job, port)
            with opened(browser, client) as page:
                client.post("pause")
                for bad in (evil, "x" * 5000):
                    client.send("POST", "/api/block", json.dumps({"name": bad}).encode())
                show(page, "servers")
                page.click("#servers tbody a")
                page.wait_for_selector("#server-body pre")
                text = page.inner_text("#view-server")
                assert "onerror" in text
                show(page, "urls")
                text += page.inner_text("#view-urls")
                page.click("#urls tbody a")
                page.wait_for_selector("#url-body h3")
                text += page.inner_text("#view-url")
                show(page, f"url?url={site.origins[0]}/%3Cimg%20src=x%20onerror=alert(1)%3E")
                show_none(page, "%3Cscript%3E")
                page.click("#to-compare")
                page.wait_for_selector("#compare-with option", state="attached")
                page.click("#compare-form button")
                page.wait_for_selector("#compared td:has-text('onerror')")
                text += page.inner_text("#view-compare")
                page.wait_for_selector("#compare-by-pages canvas")
                assert "\u202e" not in text
                assert page.evaluate("document.querySelectorAll('main img, main script').length") == 0
                assert page.evaluate("document.documentElement.scrollWidth") <= 1280
                assert "broken" not in page.title()


def test_spiders_are_shown_and_reloaded(browser: Browser, tmp_path: Path) -> None:
    """Of a crawl with several; each leads to its URLs."""
    package, job, port = tmp_path / "mine_all", tmp_path / "job", free_port()
    package.mkdir()
    (package / "__init__.py").write_text(ONE_OF_SEVERAL.format(version="old"))
    settings = settings_of(job, port, SPIDER_MODULES=["mine_all"], TEST_PATH=[str(tmp_path)])
    settings |= {"FRONTIER_GUARD_ENABLED": False, "ROBOTSTXT_OBEY": False}
    with scripted_site(1) as site:
        site.script = Chain()
        given = {"spiders": "all", "seeds": site.url("1/0")}
        with crawling("crawlproject.spiders.web.WebSpider", tmp_path, settings=settings, **given) as process:
            client = open_console(process, job, port)
            for width in (360, 1280):
                with opened(browser, client, width) as page:
                    show(page, "controls")
                    page.wait_for_selector("#spiders td a:has-text('mine')")
                    (package / "__init__.py").write_text(ONE_OF_SEVERAL.format(version="new" * width))
                    page.click("#reload")
                    page.wait_for_selector("#message:has-text('mine: reloaded')")
                    page.screenshot(path=tmp_path / f"spiders-{width}.png", full_page=True)
                    assert page.evaluate(CUT) == []
                    assert faults(page) == []
                    page.click("#spiders td a")
                    page.wait_for_selector("#view-urls:not([hidden])")
                    assert page.input_value("#url-spider") == "mine"
                    assert "spider=mine" in page.url


def test_a_tab_that_is_open_for_days(browser: Browser, tmp_path: Path) -> None:
    """It follows the crawl that is resumed at the same port after a crash."""
    job, port, token = tmp_path / "job", free_port(), "t" * 20
    settings = settings_of(job, port, FRONTIER_CONSOLE_TOKEN=token)
    with scripted_site(1) as site, ExitStack() as stack:
        site.script = Everywhere()
        page = None
        for _ in range(2):
            with crawling(SPIDER, tmp_path, settings=settings, sites=site.origins[0]) as process:
                client = open_console(process, job, port)
                if page is None:
                    page = stack.enter_context(opened(browser, client))
                    page.wait_for_selector("#state[data-state=running]")
                    page.evaluate("document.body.dataset.first = 'yes'")
                else:  # the page is loaded anew
                    page.wait_for_selector("body:not([data-first]) #state[data-state=running]")
                process.kill()
                process.wait()
