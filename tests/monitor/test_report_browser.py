"""The report in a real browser: at a desk and on a phone, light and dark."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crawlproject.monitor.report.page import write_report
from tests.monitor.browser import INKED, OVERLAPS, VIEWS, browser, faults
from tests.monitor.crawl_files import HOSTILE, large, samples, server, snapshot, write

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def running() -> Iterator[Any]:
    with browser() as found:
        yield found


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With few servers: axe-core takes minutes for 1,000."""
    rows = [server(number) for number in range(40)]
    return write_report(write(tmp_path_factory.mktemp("report"), samples(500, 7200.0, 9000), snapshot(rows))).path


def opened(running: Any, path: Path, width: int = 1280, scheme: str = "light") -> tuple[Any, list[str]]:
    """The page, and what it complains of."""
    page = running.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme, offline=True).new_page()
    errors: list[str] = []
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on("dialog", lambda dialog: errors.append(dialog.message))
    page.on("request", lambda request: errors.append(request.url) if not request.url.startswith("file:") else None)
    page.goto(path.as_uri())
    page.wait_for_selector("#servers tbody tr")
    return page, errors


@pytest.mark.parametrize(("width", "scheme"), VIEWS)
def test_it_looks_as_it_should(running: Any, report: Path, tmp_path: Path, width: int, scheme: str) -> None:
    """No error, nothing wider than the screen, no overlap, every chart drawn, no serious fault of accessibility."""
    page, errors = opened(running, report, width, scheme)
    page.screenshot(path=tmp_path / "page.png", full_page=True)
    assert errors == []
    assert page.evaluate("document.documentElement.scrollWidth") == width
    assert page.evaluate(OVERLAPS) == []
    assert page.locator("canvas").count() == 8
    assert page.evaluate(INKED)
    assert faults(page) == []


def test_the_table_sorts_and_searches(running: Any, tmp_path: Path) -> None:
    """By number and by text, both ways; with the keyboard; all servers of a large crawl."""
    page, errors = opened(running, write_report(large(tmp_path)).path)
    first = page.locator("#servers tbody tr a").first
    page.get_by_role("button", name="URLs", exact=True).click()
    assert first.inner_text() == "http://server-0999.example"
    assert page.locator("#servers th[aria-sort]").get_attribute("aria-sort") == "descending"
    page.locator("#servers th[aria-sort] button").focus()
    page.keyboard.press("Enter")
    assert first.inner_text() == "http://server-0000.example"
    page.get_by_role("button", name="Next").click()
    assert first.inner_text() == "http://server-0050.example"
    page.get_by_label("Search").fill("SERVER-077")
    page.get_by_role("button", name="Show").click()
    assert page.locator("#servers-caption").inner_text() == "1 to 10 of 10 servers that match, of 1,000"
    assert page.locator("#servers tbody tr").count() == 10
    first.click()
    assert "Bonus" in page.locator("#view-server").inner_text()
    assert faults(page, "#view-server") == []
    assert errors == []


def test_values_of_a_chart_and_other_colours(running: Any, report: Path) -> None:
    """The table beside a chart opens; the charts are drawn again when the scheme changes, and for print."""
    page, errors = opened(running, report, 390)
    page.get_by_text("Values: Share of the known quality").click()
    assert page.get_by_role("cell", name="91%").first.is_visible()
    assert "this crawl: in the end 91%" in page.locator("#charts figure").first.inner_text()
    before = page.locator("canvas").first.evaluate("canvas => canvas.toDataURL()")
    page.emulate_media(color_scheme="dark")
    page.wait_for_function("before => document.querySelector('canvas').toDataURL() !== before", arg=before)
    page.set_viewport_size({"width": 800, "height": 900})
    page.wait_for_function("document.documentElement.scrollWidth === 800")
    assert 1 < len(re.findall(rb"/Type\s*/Page[^s]", page.pdf(format="A4"))) <= 4
    assert errors == []


def test_what_strangers_send_does_nothing(running: Any, tmp_path: Path) -> None:
    """No script of theirs runs, no image is asked for, and it is shown as text."""
    rows = [server(number, server=text, error=text) for number, text in enumerate(HOSTILE)]
    folder = write(tmp_path, samples(20, 60.0, 100), snapshot(rows, settings=dict.fromkeys(HOSTILE, HOSTILE[0])))
    page, errors = opened(running, write_report(folder).path, 390)
    page.wait_for_timeout(200)
    assert errors == []
    assert "<script>alert(1)</script>" in " ".join(page.locator("#servers tbody a").all_inner_texts())
    assert page.evaluate("document.documentElement.scrollWidth") == 390
    assert faults(page) == []


def test_the_summary_without_scripts(running: Any, report: Path) -> None:
    """What a mail program or a strict browser shows."""
    page = running.new_context(java_script_enabled=False, offline=True).new_page()
    page.goto(report.as_uri())
    assert "it fetched 9,000 pages" in page.locator("main").inner_text()
    assert "need JavaScript" in page.locator("noscript").inner_text()
