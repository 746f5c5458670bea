"""What is done with a loaded page: wait until it is quiet, take steps, read the DOM."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import TimeoutError as PlaywrightTimeout

from crawlproject.clock import CLOCK
from crawlproject.download.rendering.job import RenderError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from playwright.async_api import Page

    from crawlproject.download.rendering.job import PageJob
    from crawlproject.download.rendering.steps import Step

#: Seconds after which a DOM that never stops to change is read, once the network is quiet.
MAX_CHANGING = 3.0

#: Longest wait for the element of a step, seconds.
STEP_TIMEOUT = 5.0

#: Milliseconds since the DOM last changed; the first call begins to watch. -1: the page is still being parsed.
_CHANGED = """key => {
    const name = Symbol.for(key);
    if (!window[name]) {
        const seen = window[name] = {at: performance.now()};
        new MutationObserver(() => { seen.at = performance.now(); })
            .observe(document, {subtree: true, childList: true, characterData: true});
    }
    return document.readyState === 'loading' ? -1 : performance.now() - window[name].at;
}"""

#: The document as text, with what shadow roots contain at the end of its body, and the base of its links; null if it is
#: too long.
_READ = """limit => {
    const root = document.documentElement;
    if (!root) return {html: '', base: document.baseURI, hasBase: true};
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
        base: document.baseURI,
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


async def settle(page: Page, job: PageJob, quiet: float, key: str) -> None:
    """Return when network and DOM have not changed for ``quiet`` seconds, or when a script wants to leave the page.

    The call itself counts as a change: something was done just before.
    """
    started = CLOCK()
    quiet_network_since: float | None = None
    while job.redirect is None:
        unchanged = await page.evaluate(_CHANGED, key) / 1e3
        if job.in_flight:
            quiet_network_since = None
            await job.idle()
            continue
        now = CLOCK()
        quiet_network_since = quiet_network_since or now
        wait = quiet - min(now - started, now - job.changed_at, max(0.0, unchanged))
        if wait <= 0 or now - quiet_network_since > MAX_CHANGING:
            return
        await asyncio.sleep(min(wait, quiet))


async def take(steps: Iterable[Step], page: Page, job: PageJob, quiet: float, key: str) -> str | None:
    """Take the steps; after each, wait as in ``settle``. Returns why one failed: then the others are not taken."""
    for step in steps:
        try:
            if step.verb == "scroll":
                await _scroll(step.times, page, job, quiet, key)
            elif step.verb == "click":
                await page.click(step.selector, timeout=STEP_TIMEOUT * 1000)
            else:
                await page.wait_for_selector(step.selector, state="attached", timeout=STEP_TIMEOUT * 1000)
        except PlaywrightTimeout:
            return f"{step.verb} {step.selector}: no such element within {STEP_TIMEOUT:.0f} s"
        except PlaywrightError as error:
            return f"{step.verb} {step.selector}: {error.message.partition(chr(10))[0]}"
        await settle(page, job, quiet, key)
    return None


async def _scroll(times: int, page: Page, job: PageJob, quiet: float, key: str) -> None:
    height = -1
    for _ in range(times):
        before, height = height, await page.evaluate(_SCROLL)
        if height == before:
            return
        await settle(page, job, quiet, key)


async def read(page: Page, limit: int) -> Dom:
    """The DOM. Raises RenderError if it is longer than ``limit`` characters."""
    found: dict[str, Any] | None = await page.evaluate(_READ, limit)
    if found is None:
        raise RenderError("too_large", f"its DOM is longer than RENDER_MAXSIZE={limit}")
    return Dom(found["html"], None if found["hasBase"] else found["base"])
