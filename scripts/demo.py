#!/usr/bin/env python3
"""The demonstration: crawl an emulated web on loopback and report what was fetched, how good and how politely.

The report is based on the log of the emulated servers, not on the crawler's own figures.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

signal.signal(signal.SIGINT, signal.SIG_DFL)  # until there is something to clean up, Ctrl-C simply ends the process

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from crawlproject.options.all_settings import DEFAULTS
from testbed.crawl import crawl_command
from testbed.web import (
    WebSpec,
    duplicates,
    first_fetches,
    max_open_connections,
    parallel_connections,
    politeness_violations,
    quality_over_time,
    rule_of,
    running_web,
    value_at,
)

SPEC = WebSpec(servers=40, pages=800, time_scale=0.1, crawl_delay_share=0.05, crawl_delay=0.5)
PAGES = ROOT / "demo.jsonl"  # not that of crawls with seeds, which is appended to
REPORT = ROOT / "demo-report"


def crawl(seeds: list[str], scores: Path) -> None:
    """Run the web spider with its defaults; its pages go to ``demo.jsonl``, its report to ``demo-report``."""
    shutil.rmtree(REPORT, ignore_errors=True)
    settings = {"FRONTIER_QUALITY": "scores", "FRONTIER_QUALITY_FILE": scores, "LOG_LEVEL": "WARNING"}
    settings |= {"FRONTIER_ALLOWED_NETWORKS": "127.0.0.0/8", "FRONTIER_REPORT_DIR": REPORT}
    command = [*crawl_command(seeds, settings), "-O", str(PAGES)]
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})  # otherwise Ctrl-C could leave an orphan process
    with subprocess.Popen(command, cwd=ROOT, start_new_session=True) as process:
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
            if process.wait():
                raise subprocess.CalledProcessError(process.returncode, command)
        except BaseException:
            process.kill()
            raise


def main() -> None:
    with tempfile.TemporaryDirectory() as folder, running_web(SPEC) as web:
        print(f"crawling an emulated web of {SPEC.servers} servers and {SPEC.pages} pages on loopback ...", flush=True)
        scores = Path(folder) / "scores.tsv"
        web.web.write_scores(scores)
        crawl(web.seeds, scores)
        records = web.records()
    curve = quality_over_time(records, web.web)
    end = curve[-1][0] if curve else 0.0
    rule = rule_of(DEFAULTS, web.web)
    items = [json.loads(line) for line in PAGES.read_text(encoding="utf-8").splitlines()]
    steps = ", ".join(f"{value_at(curve, share * end):.0%} at {share:.0%}" for share in (0.1, 0.2, 0.3, 0.5, 1.0))
    print(f"fetched      {len(first_fetches(records))} of {len(web.web.expected)} pages in {end:.1f} s, ", end="")
    print(f"{len(duplicates(records))} of them twice; {len(items)} items in {PAGES.name}")
    print(f"quality      {steps} of the time")
    print(f"politeness   {len(politeness_violations(records, rule))} waits too short, ", end="")
    print(f"at most {max(parallel_connections(records).values())} connection to a server, ", end="")
    print(f"{max_open_connections(records)} open in all (allowed: {DEFAULTS['FRONTIER_MAX_SESSIONS']})")
    best = max(items, key=lambda item: item["quality"])
    print(f"best page    {best['title']!r}, {best['length']} bytes, answered in {best['response_time']:.3f} s")
    print(f"report       {REPORT.name}/report.html: open it in a browser")
    print("next         scripts/quickstart https://example.org/, or the add-on in your project: docs/own-project.md")


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
    except subprocess.CalledProcessError as error:  # the crawl has logged the reason
        sys.exit(error.returncode)
