"""The settings ``FRONTIER_RENDER`` and ``FRONTIER_RENDER_*`` (docs/rendering.md)."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Self

from crawlproject.options.extras import needs_extra
from crawlproject.options.values import Options, Reader, setting

NEVER, AUTO, ALWAYS = MODES = ("never", "auto", "always")

#: Names under which Chromium is installed, and folders that may not be in PATH. Without windows it needs half the CPU.
PROGRAMS = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
FOLDERS = (Path("/usr/bin"), Path("/usr/lib/chromium"), Path("/snap/bin"))

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


@dataclass(frozen=True)
class RenderOptions(Options):
    """Which pages are rendered, and what that may cost. Times in seconds, sizes in bytes.

    FRONTIER_RENDER: `never`; `auto`: pages whose HTML shows that they need scripts; `always`
    FRONTIER_RENDER_PAGES: pages in the browser at a time
    FRONTIER_RENDER_TIMEOUT: maximum time for a page, seconds
    FRONTIER_RENDER_QUIET: seconds without a request or change of the DOM, after which a page is
        complete
    FRONTIER_RENDER_MAX_MEMORY: memory of the browser, bytes, above which the largest page is ended
    PLAYWRIGHT_LAUNCH_OPTIONS: scrapy-playwright's: how Chromium starts
    """

    # A rendered page costs 50 times the CPU of a fetched one: only those who need it should pay.
    mode: str = setting(Reader.choice, "FRONTIER_RENDER", NEVER, MODES)
    # Two for each of two processors: a page waits for the network half of its time.
    pages: int = setting(Reader.count, "FRONTIER_RENDER_PAGES", 4, least=1)
    timeout: float = setting(Reader.positive, "FRONTIER_RENDER_TIMEOUT", 20.0)
    # Shorter than a script's usual pauses (debouncing: 0.2 to 0.3 s), longer than the steps of a framework.
    quiet: float = setting(Reader.positive, "FRONTIER_RENDER_QUIET", 0.5)
    #: Requests of one page, and bytes of all answers to them, and of the DOM.
    max_requests: ClassVar[int] = 100
    max_loaded: ClassVar[int] = 20_000_000
    max_size: ClassVar[int] = 8_000_000
    # With 300 MB for the crawl itself 1.5 GB.
    max_memory: int = setting(Reader.count, "FRONTIER_RENDER_MAX_MEMORY", 1_200_000_000, least=200_000_000)
    #: Playwright's types of resources that are not loaded: none of them holds links or text.
    blocked: ClassVar[frozenset[str]] = frozenset(("image", "font", "media"))
    launch_options: dict[str, Any] = setting(Reader.dictionary, "PLAYWRIGHT_LAUNCH_OPTIONS")

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """See ``Options``. With ``FRONTIER_RENDER`` other than never, also looks for the libraries and for Chromium."""
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
        with needs_extra(f"FRONTIER_RENDER={self.mode!r}", "render"):
            import h11  # noqa: F401
            import playwright  # noqa: F401
            import scrapy_playwright  # noqa: F401
        if self.program() is None:
            wanted = self.launch_options.get("executable_path")
            found = f"PLAYWRIGHT_LAUNCH_OPTIONS: there is no {wanted}" if wanted else "no Chromium was found"
            raise ValueError(
                f"FRONTIER_RENDER={self.mode!r}: {found}; install one (apt-get install chromium)"
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
