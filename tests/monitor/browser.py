"""A headless browser for tests, and checks of a page: overlap, blank charts, accessibility."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

#: The engine of the accessibility tests.
AXE = Path(__file__).resolve().parents[1] / "data" / "axe-core" / "axe.min.js.gz"

#: Widths of a desk and of a phone, and schemes of colour.
VIEWS = [(width, scheme) for width in (1280, 390) for scheme in ("light", "dark")]

#: Whether each canvas has pixels of more than two colours.
INKED = """() => [...document.querySelectorAll('#charts canvas')].every((canvas) => {
  const pixels = new Uint32Array(canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data.buffer);
  return new Set(pixels).size > 3;
})"""

#: Whether text of different elements overlaps.
OVERLAPS = """
() => {
  const blocks = [...document.querySelectorAll("h1, h2, h3, p, figure > .chart, summary, li, .scroll, .search")]
    .filter((each) => each.offsetParent !== null && !each.closest("details:not([open]) > :not(summary)"))
    .map((each) => [each, each.getBoundingClientRect()]);
  const found = [];
  for (const [one, a] of blocks) for (const [other, b] of blocks) {
    if (one === other || one.contains(other) || other.contains(one)) continue;
    const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (wide > 2 && high > 2) found.push([one.outerHTML.slice(0, 80), other.outerHTML.slice(0, 80)]);
  }
  return found;
}
"""


def chromium() -> str:
    """The program; skips the test without one."""
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    if found is None:
        pytest.skip("chromium is not installed")
    return found


@contextmanager
def browser() -> Iterator[Any]:
    """A running browser; pages that it opens have no network but loopback and files."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with sync_api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        try:
            yield running
        finally:
            running.close()


def faults(page: Any, part: str = "html") -> list[str]:
    """Serious and critical faults that axe-core finds in ``part``, a selector, in words."""
    page.evaluate(gzip.decompress(AXE.read_bytes()).decode())
    found = page.evaluate("part => axe.run(part)", part)
    return [
        f"{each['id']}: {each['help']}: {[node['html'][:100] for node in each['nodes'][:3]]}"
        for each in found["violations"]
        if each["impact"] in ("serious", "critical")
    ]
