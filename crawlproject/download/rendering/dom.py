"""Takes the steps on a loaded page, and reads its DOM."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeout

from crawlproject.download.rendering.job import RenderError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from crawlproject.download.rendering.steps import Step
    from crawlproject.download.rendering.tab import Tab

#: Longest wait for the element of a step, seconds.
STEP_TIMEOUT = 5.0

#: The document as text, with what shadow roots contain at the end of its body, its URL, and the base of its links; null
#: if it is too long.
_READ = """limit => {
    const root = document.documentElement;
    const url = location.href.slice(0, 100);
    if (!root) return {html: '', url, base: document.baseURI.slice(0, 4096), hasBase: true};
    const html = root.outerHTML;
    const parts = [];
    let length = html.length;
    const look = parent => {
        for (const element of parent.querySelectorAll('*')) {
            if (element.shadowRoot && length <= limit) {
                parts.push('<section data-shadow-root="', element.localName, '">', element.shadowRoot.innerHTML,
                           '</section>');
                length += element.shadowRoot.innerHTML.length;
                look(element.shadowRoot);
            }
        }
    };
    look(document);
    if (length > limit) return null;
    const end = parts.length ? html.lastIndexOf('</body>') : -1;
    const whole = end < 0 ? html + parts.join('') : html.slice(0, end) + parts.join('') + html.slice(end);
    return {
        html: (document.doctype ? '<!DOCTYPE html>' : '') + whole,
        url,
        base: document.baseURI.slice(0, 4096),
        hasBase: !!document.querySelector('base[href]'),
    };
}"""

_SCROLL = """() => {
    const height = document.documentElement.scrollHeight;
    window.scrollTo(0, height);
    return height;
}"""


class Dom(NamedTuple):
    """A document as text; ``base``: what its links are relative to, if it does not say so itself."""

    html: str
    base: str | None


async def take(steps: Iterable[Step], tab: Tab, settle: Callable[[], Awaitable[None]]) -> str | None:
    """Take the steps; ``settle`` after each. Returns why one failed: then the others are not taken."""
    for step in steps:
        try:
            if step.verb == "scroll":
                await _scroll(step.times, tab, settle)
            elif step.verb == "click":
                await tab.page.click(step.selector, timeout=STEP_TIMEOUT * 1000)
            else:
                await tab.page.wait_for_selector(step.selector, state="attached", timeout=STEP_TIMEOUT * 1000)
        except PlaywrightTimeout:
            return f"{step.verb} {step.selector}: no such element within {STEP_TIMEOUT:.0f} s"
        except PlaywrightError as error:
            return f"{step.verb} {step.selector}: {error.message.partition(chr(10))[0]}"
        await settle()
    return None


async def _scroll(times: int, tab: Tab, settle: Callable[[], Awaitable[None]]) -> None:
    height = -1
    for _ in range(times):
        before, height = height, await tab.ask(_SCROLL, "")
        if height == before:
            return
        await settle()


async def read(tab: Tab, limit: int) -> Dom:
    """The DOM. Raises RenderError if it is longer than ``limit`` characters, or that of no page of a server."""
    found: dict[str, Any] | None = await tab.ask(_READ, str(limit))
    if found is None:
        raise RenderError("too_large", f"its DOM is longer than {limit} characters")
    if not found["url"].startswith(("http:", "https:")):
        raise RenderError("left", f"a script has put {found['url']} in its place")
    return Dom(found["html"], None if found["hasBase"] else found["base"])
