"""Waits until a page is complete: when nothing in progress can change it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from crawlproject.clock import CLOCK

if TYPE_CHECKING:
    from crawlproject.download.rendering.job import PageJob
    from crawlproject.download.rendering.tab import Tab

#: Seconds after which a DOM that never stops to change is read, once the network is quiet; and for a frame.
MAX_CHANGING = 3.0

#: Seconds of its own clock after which a page is read if it never stops asking its server.
MAX_AHEAD = 5.0

#: Seconds for what a page waits for besides timers and the network: animation frames, stored data, other threads.
SHORTLY = 0.15

#: Seconds in which an animation, if there is one, is seen.
MIN_WAIT = 0.05

#: Seconds of its own clock in which a page handles what has come while the clock stood still.
LATE = 0.01

#: How often the DOM has changed, or null while the page is being parsed; the first call begins to watch.
_CHANGES = """() => {
    if (!globalThis.crawlChanges) {
        const seen = globalThis.crawlChanges = {count: 1};
        new MutationObserver(() => { seen.count++; })
            .observe(document, {subtree: true, childList: true, characterData: true});
    }
    return document.readyState === 'loading' ? null : globalThis.crawlChanges.count;
}"""


class Quiet:
    """Waits for one page to be quiet: no request of it is in flight and its DOM does not change for ``quiet`` seconds.

    These pass by the page's own clock, which runs ahead of the real one while only timers could change the page.  What
    does not obey that clock gets real time: ``SHORTLY`` if nothing of that kind is seen, else ``quiet``.
    ``is_ahead=False``: everything runs by the real clock, which steps need.
    """

    def __init__(self, tab: Tab, job: PageJob, quiet: float, *, is_ahead: bool) -> None:
        self._tab = tab
        self._job = job
        self._quiet = quiet
        self._is_ahead = is_ahead
        self._needed = min(SHORTLY, quiet) if is_ahead else quiet  # real seconds
        self._ahead = 0.0
        self._seen: tuple[int, int | None] = (0, None)  # changes of the network and of the DOM
        self._changed_at = self._network_changed_at = 0.0
        job.tell_left(tab.wake)

    async def wait(self) -> None:
        """Return when the page is quiet, or when a script wants to leave it.

        The call itself counts as a change: something was done just before.
        """
        await self._has_changed()
        self._changed_at = self._network_changed_at = CLOCK()
        while self._job.redirect is None:
            await self._pass_time()
            if self._job.in_flight:
                await self._job.idle()
            changed = await self._has_changed()
            if CLOCK() - self._network_changed_at > MAX_CHANGING or self._ahead > MAX_AHEAD:
                return
            if not changed and await self._stays_unchanged():
                return

    async def _pass_time(self) -> None:
        if self._is_ahead:
            await self._tab.run(self._quiet)
            self._ahead += self._quiet
        else:
            await asyncio.sleep(min(max(self._rest(), 0.01), SHORTLY))

    def _rest(self) -> float:
        """Real seconds that are still needed."""
        return self._needed - (CLOCK() - self._changed_at)

    async def _has_changed(self) -> bool:
        """Whether network or DOM have changed since the last look."""
        now: tuple[int, int | None] = self._job.changes, await self._tab.ask(_CHANGES, "")
        changed = now != self._seen or now[1] is None
        if now[0] != self._seen[0]:
            self._network_changed_at = CLOCK()
        if changed:
            self._seen, self._changed_at = now, CLOCK()
        return changed

    async def _stays_unchanged(self) -> bool:
        """Whether it also is for the real time needed, or for a part of it."""
        if self._is_ahead:
            if await self._tab.moves(MAX_CHANGING):
                self._needed = self._quiet
            scripts = await self._tab.script_time()
            await asyncio.sleep(min(max(self._rest(), MIN_WAIT), SHORTLY))
            await self._tab.run(LATE)  # what has come meanwhile, such as stored data, waits for the clock
            if await self._has_changed():
                return False
            if self._tab.has_others() or await self._tab.script_time() > scripts:
                self._needed = self._quiet
        return self._rest() <= 0
