"""The settings ``RENDER`` and ``RENDER_*`` (docs/rendering.md)."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from crawlproject.options.extras import needs_extra
from crawlproject.options.values import Options, Reader, setting

NEVER, AUTO, ALWAYS = MODES = ("never", "auto", "always")

#: Names under which Chromium is installed, and folders that may not be in PATH. Without windows it needs half the CPU.
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
FOLDERS = (Path("/usr/bin"), Path("/usr/lib/chromium"), Path("/snap/bin"))

#: What can be blocked in the browser: Playwright's resource types.
BLOCKABLE = ("image", "font", "media", "stylesheet", "texttrack", "manifest", "eventsource", "other")

#: Switches of Chromium that open other ways to the network than the crawl's proxy.
WAYS_OUT = (
    "--proxy",
    "--no-proxy",
    "--host-r",
    "--enable-quic",
    "--origin-to-force-quic",
    "--webrtc",
    "--force-webrtc",
)


def _blocked(reader: Reader) -> frozenset[str]:
    # None of them holds links or text.
    types = reader.strings("RENDER_BLOCK", ["image", "font", "media"])
    if not set(types) <= set(BLOCKABLE):
        raise reader.wrong("RENDER_BLOCK", f"some of {', '.join(BLOCKABLE)}")
    return frozenset(types)


@dataclass(frozen=True)
class RenderOptions(Options):
    """Which pages are rendered, and what that may cost. Times in seconds, sizes in bytes.

    RENDER: `never`; `auto`: pages whose HTML shows that they need scripts; `always`
    RENDER_PAGES: pages in the browser at a time
    RENDER_TIMEOUT: maximum time for a page, seconds
    RENDER_QUIET: seconds of the page's own clock without a request or change of the DOM, after which it is complete
    RENDER_MAX_REQUESTS: requests of one page; further ones are refused
    RENDER_MAX_LOADED: bytes of all answers to one page's requests
    RENDER_MAXSIZE: characters of the DOM; a longer page is processed as fetched
    RENDER_MAX_MEMORY: memory of the browser, bytes, above which the largest page is ended
    RENDER_PAGES_PER_CONTEXT: pages after which a tab's context is replaced
    RENDER_BLOCK: what pages do not load: Playwright's resource types
    PLAYWRIGHT_LAUNCH_OPTIONS: scrapy-playwright's: how Chromium starts
    """

    #: never, auto, always.
    # A rendered page costs 50 times the CPU of a fetched one: only those who need it should pay.
    mode: str = setting(Reader.choice, "RENDER", NEVER, MODES)
    #: Pages in the browser at once.
    # Two for each of two processors: a page waits for the network half of its time.
    pages: int = setting(Reader.count, "RENDER_PAGES", 4, least=1)
    timeout: float = setting(Reader.positive, "RENDER_TIMEOUT", 20.0)
    #: How long network and DOM must be unchanged.
    # Shorter than a script's usual pauses (debouncing: 0.2 to 0.3 s), longer than the steps of a framework.
    quiet: float = setting(Reader.positive, "RENDER_QUIET", 0.5)
    #: Requests of one page, and bytes of all answers to them, and of the DOM.
    max_requests: int = setting(Reader.count, "RENDER_MAX_REQUESTS", 100, least=1)
    max_loaded: int = setting(Reader.count, "RENDER_MAX_LOADED", 20_000_000, least=1)
    max_size: int = setting(Reader.count, "RENDER_MAXSIZE", 8_000_000, least=1)
    #: Memory of all processes of the browser.
    # With 300 MB for the crawl itself 1.5 GB.
    max_memory: int = setting(Reader.count, "RENDER_MAX_MEMORY", 1_200_000_000, least=200_000_000)
    # A new context costs 100 ms of CPU; memory that an old one has not given back is bounded.
    pages_per_context: int = setting(Reader.count, "RENDER_PAGES_PER_CONTEXT", 20, least=1)
    #: Types of resources that are not loaded.
    blocked: frozenset[str] = setting(_blocked)
    #: Playwright's launch options, as the project sets them.
    launch_options: dict[str, Any] = setting(Reader.dictionary, "PLAYWRIGHT_LAUNCH_OPTIONS")

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """See ``Options``. With ``RENDER`` other than never, also looks for the libraries and for Chromium."""
        options = super().read(reader)
        arguments = options.launch_options.get("args", [])
        if not isinstance(arguments, list):
            raise reader.wrong("PLAYWRIGHT_LAUNCH_OPTIONS", "with a list of args")
        if "proxy" in options.launch_options or any(str(each).startswith(WAYS_OUT) for each in arguments):
            raise reader.wrong("PLAYWRIGHT_LAUNCH_OPTIONS", "without proxy: the browser's only way out is the guard's")
        if options.mode != NEVER:
            options.check()
        return options

    def check(self) -> None:
        """Raise ValueError where pages cannot be rendered: libraries or Chromium are missing."""
        with needs_extra(f"RENDER={self.mode!r}", "render"):
            import h11  # noqa: F401
            import playwright  # noqa: F401
            import scrapy_playwright  # noqa: F401
        if self.program() is None:
            wanted = self.launch_options.get("executable_path")
            found = f"PLAYWRIGHT_LAUNCH_OPTIONS: there is no {wanted}" if wanted else "no Chromium was found"
            raise ValueError(
                f"RENDER={self.mode!r}: {found}; install one (apt-get install chromium)"
                " or name yours in PLAYWRIGHT_LAUNCH_OPTIONS={'executable_path': ...}"
            )

    def program(self) -> str | None:
        """The path of Chromium; None if there is none."""
        chosen = self.launch_options.get("executable_path")
        if chosen:
            return str(chosen) if Path(chosen).is_file() else None
        found = (shutil.which(name) for name in PROGRAMS)
        known = (str(folder / name) for folder in FOLDERS for name in PROGRAMS if (folder / name).is_file())
        return next((path for path in (*found, *known) if path), None)
