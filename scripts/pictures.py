#!/usr/bin/env python3
"""Makes the pictures of README.md from crawls of an emulated web on loopback: docs/images/.

    scripts/pictures.py [--servers 500] [--pages 10000] [--seed 7] [--out docs/images]

quality.svg   share of the quality (PageRank) gathered over time, by this project, breadth-first, and Scrapy with the
              settings of its page on broad crawls.  All have 64 connections, one to a server, without further waits,
              and know no page's quality beforehand.  Prints the table.
panel.svg     the panel in a terminal, in the middle of a polite crawl
console.png   the console, at the same time
budgets.svg   what a limit of pages gathers, and in which time, by FRONTIER_CHOOSINESS (docs/policies.md); in virtual
              time.  Prints the table.

Needs the extras ``simulation`` and ``render``, Chromium, and ``pip install pyte``.
"""

from __future__ import annotations

import os
import pty
import select
import shutil
import signal
import subprocess
import sys
import time
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scripts.bench_throughput import BROAD, STOCK
from testbed.bench import command_line
from testbed.crawl import ROOT, WEB, WEB_SPIDER, crawl, crawl_command
from testbed.web import WebSpec, quality_over_time, running_web, value_at

if TYPE_CHECKING:
    from collections.abc import Iterator

Curve = list[tuple[float, float]]

OURS: dict[str, Any] = {**WEB, "FRONTIER_QUALITY": "in-links", "LOG_LEVEL": "ERROR"}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "crawlproject": (WEB_SPIDER, OURS),
    "crawlproject, breadth-first": (WEB_SPIDER, {**OURS, "FRONTIER_POLICY": "breadth-first"}),
    "Scrapy, broad crawl": (STOCK, {**BROAD, "CONCURRENT_REQUESTS_PER_DOMAIN": 1, "LOG_LEVEL": "ERROR"}),
}
TOKEN = "0123456789abcdef"
COLUMNS, LINES = 100, 24
#: Values of FRONTIER_CHOOSINESS that are drawn.
CHOOSINESS = (0.0, 1.0, 3.0, 10.0, 30.0)


def curves(spec: WebSpec) -> Iterator[tuple[str, Curve]]:
    """The quality over time of each case; all crawl the same web."""
    for name, (spider, settings) in CASES.items():
        with running_web(spec) as web:
            crawl(settings, spider, seeds=",".join(web.seeds))
            yield name, quality_over_time(web.records(), web.web)


def reached(curve: Curve, share: float) -> float:
    """Seconds until this share of the quality was gathered."""
    return next((moment for moment, quality in curve if quality >= share), float("nan"))


def plots(columns: int = 1) -> Any:
    """A figure and its plots, side by side."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams["svg.hashsalt"] = "crawlproject"
    from matplotlib import pyplot as plt

    return plt.subplots(1, columns, figsize=(7, 3.2), layout="constrained", sharey=True)


def draw(found: dict[str, Curve], path: Path) -> None:
    """Draw ``quality.svg``."""
    figure, axes = plots()
    end = max(curve[-1][0] for curve in found.values())
    for name, curve in found.items():
        moments = [end * at / 300 for at in range(301)]
        axes.plot(moments, [100 * value_at(curve, moment) for moment in moments], label=name)
    axes.axhline(80, color="gray", linewidth=0.5)
    axes.set(xlabel="seconds", ylabel="quality gathered, %", xlim=(0, end), ylim=(0, 100))
    axes.legend(loc="lower right")
    figure.savefig(path, metadata={"Date": None})


def budgets(path: Path, webs: int = 3) -> None:
    """Draw ``budgets.svg``: quality of the first tenth and of the first 30% of the pages, by choosiness."""
    from crawlproject.frontier.budgets import Limits
    from crawlproject.simulation.crawl import CrawlOptions
    from crawlproject.simulation.experiment import Experiment, run
    from crawlproject.simulation.synthetic import SyntheticSpec

    figure, axes = plots(2)
    specs = tuple(SyntheticSpec(500, 10_000, seed) for seed in range(1, webs + 1))
    for pages, (axis, quality) in product((3000, 1000), zip(axes, ("pagerank", "zipf"), strict=True)):
        times, shares = [], []
        for choosiness in CHOOSINESS:
            options = CrawlOptions(limits=Limits(pages), choosiness=choosiness)
            trials = run(Experiment(specs, (quality,), ("prefix",), options))
            times.append(fmean(trial.outcome.full_time for trial in trials))
            shares.append(100 * fmean(trial.outcome.gathered for trial in trials))
            axis.annotate(f"{choosiness:g}", (times[-1], shares[-1]), (4, -10), textcoords="offset points", fontsize=7)
            print(f"{quality:9} {pages} pages, {choosiness:3g}: {shares[-1]:.1f}% in {times[-1]:.1f} s", flush=True)
        (line,) = axis.plot(times, shares, marker=".", label=f"{pages:,} pages")
        axis.axhline(100 * fmean(trial.ground.most_within for trial in trials), color=line.get_color(), linestyle="--")
        axis.set(title=quality, xlabel="seconds", xlim=(0, None), ylim=(0, 100))
        axis.legend(loc="lower right")
    axes[0].set(ylabel="quality gathered, %")
    figure.savefig(path, metadata={"Date": None})


def screens(spec: WebSpec, out: Path) -> None:
    """Crawl politely in a terminal, and save the panel and the console when half of the pages are fetched."""
    with running_web(spec) as web:
        settings = {
            "FRONTIER_ALLOWED_NETWORKS": "127.0.0.0/8",
            "FRONTIER_CONSOLE_PORT": 8401,
            "FRONTIER_CONSOLE_TOKEN": TOKEN,
        }
        settings |= {"FRONTIER_DELAY_FACTOR": 1, "FRONTIER_MIN_DELAY": 0, "LOG_LEVEL": "WARNING"}
        process, terminal = pty.fork()
        if process == 0:
            os.chdir(ROOT)
            os.environ |= {"TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LINES": str(LINES)}
            command = crawl_command(web.seeds, settings)
            os.execv(command[0], command)
        try:
            text = read(terminal, until=lambda: len(web.records()) > spec.pages / 2)
            save_console(out / "console.png")
            save_terminal(text, out / "panel.svg")
        finally:
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)


def read(terminal: int, until: Any) -> bytes:
    """All that the terminal shows until ``until()``."""
    text, looked = b"", 0.0
    while True:
        if select.select([terminal], [], [], 0.5)[0]:
            text += os.read(terminal, 1 << 16)
        if time.monotonic() > looked + 1:
            looked = time.monotonic()
            if until():
                return text


def save_terminal(text: bytes, path: Path) -> None:
    """Draw what stands on the terminal after ``text``."""
    import pyte
    from rich.console import Console
    from rich.text import Text

    screen = pyte.Screen(COLUMNS, LINES)
    pyte.ByteStream(screen).feed(text)
    lines = [line.rstrip() for line in screen.display]
    while lines and not lines[0]:
        del lines[0]
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere)
        console.print(Text("\n".join(lines).rstrip()))
        console.save_svg(str(path), title="scrapy crawl web -a seeds=seeds.txt")


def save_console(path: Path) -> None:
    """Open the console in Chromium, and save what is visible."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 860})
        page.goto(f"http://127.0.0.1:8401/#token={TOKEN}")
        page.wait_for_timeout(5_000)  # two updates, so that rates are shown
        page.screenshot(path=path)
        browser.close()


def main() -> None:
    given = command_line(__doc__, servers=500, pages=10_000, seed=7, out="docs/images").parse_args()
    spec = WebSpec(servers=given.servers, pages=given.pages, seed=given.seed)
    out = ROOT / given.out
    out.mkdir(parents=True, exist_ok=True)
    found: dict[str, Curve] = {}
    print(f"{'':28} {'50%':>6} {'80%':>6} {'95%':>6} {'all':>6}  seconds until this share of the quality")
    for name, curve in curves(spec):
        found[name] = curve
        steps = " ".join(f"{reached(curve, share):6.1f}" for share in (0.5, 0.8, 0.95))
        print(f"{name:28} {steps} {curve[-1][0]:6.1f}", flush=True)
    draw(found, out / "quality.svg")
    budgets(out / "budgets.svg")
    screens(spec, out)


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
    except subprocess.CalledProcessError as error:
        sys.exit(f"a crawl failed: {error}\n{error.stderr}")
