#!/usr/bin/env python3
"""Every row of docs/research/results.md: runs `scrapy simulate` for each and prints the table.

    scripts/policy_results.py [--graph uic.graph.npz] [--output results] [--only NAME,...] [--jobs 2]

Rows whose summary is already in the output folder are not run again.  All rows take about an hour of CPU.
"""

from __future__ import annotations

import csv
import shlex
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from testbed.bench import ROOT, command_line

THREE = "--policy breadth-first,capacity,prefix"
#: Name of the row -> options of the command; GRAPH is replaced by the file.
ROWS = {
    "work": "--webs 8 --quality pagerank,zipf",
    "work-16-sessions": f"--webs 8 --sessions 16 --quality pagerank,zipf {THREE}",
    "in-links": f"--webs 8 --estimate in-links {THREE}",
    "partial-pagerank": f"--webs 8 --estimate partial-pagerank {THREE}",
    "opic": f"--webs 4 --estimate opic {THREE}",
    "depth": f"--webs 4 --estimate depth {THREE}",
    "constant": f"--webs 4 --estimate constant {THREE}",
    "sitemaps": f"--webs 8 --sitemaps 0.3 --quality pagerank,zipf {THREE}",
    "tail": f"--webs 4 --web tail --quality pagerank,zipf {THREE}",
    "uic-150": f"--web GRAPH --max-pages-per-server 150 --sessions 16 --webs 6 --quality pagerank,zipf {THREE}",
    "uic-full": f"--web GRAPH --sessions 4 --webs 6 {THREE}",
    "uic-150-heritrix": f"--web GRAPH --max-pages-per-server 150 --sessions 16 --times heritrix --webs 6 {THREE}",
    "uic-150-in-links": f"--web GRAPH --max-pages-per-server 150 --sessions 16 --webs 6 --estimate in-links {THREE}",
    "uic-150-partial": "--web GRAPH --max-pages-per-server 150 --sessions 16 --webs 6 --estimate partial-pagerank "
    f"{THREE}",
    "uic-full-in-links": f"--web GRAPH --sessions 4 --webs 6 --estimate in-links {THREE}",
    "uic-full-partial": f"--web GRAPH --sessions 4 --webs 6 --estimate partial-pagerank {THREE}",
    "32-sessions": f"--webs 3 --sessions 32 {THREE}",
    "128-sessions": f"--webs 3 --sessions 128 {THREE}",
    "256-sessions": f"--webs 3 --sessions 256 {THREE}",
    "512-sessions": f"--webs 3 --sessions 512 {THREE}",
    "session-1": f"--webs 3 --politeness session --delay-factor 1 {THREE}",
    "session-5": f"--webs 3 --politeness session --delay-factor 5 {THREE}",
    "session-10": f"--webs 3 --politeness session --delay-factor 10 {THREE}",
    "session-10-16-sessions": f"--webs 3 --sessions 16 --politeness session --delay-factor 10 {THREE}",
    "request-1": f"--webs 3 --politeness request --delay-factor 1 {THREE}",
    "request-10": f"--webs 3 --politeness request --delay-factor 10 {THREE}",
    "request-10-16-sessions": f"--webs 3 --sessions 16 --politeness request --delay-factor 10 {THREE}",
    "error-0.5": f"--webs 3 --error 0.5 {THREE}",
    "error-1": f"--webs 3 --error 1 {THREE}",
    "error-2": f"--webs 3 --error 2 {THREE}",
    "dead": f"--webs 3 --dead 0.05 {THREE}",
    "flaws": f"--webs 8 --flaws --quality pagerank,zipf {THREE}",
    "flaws-in-links": f"--webs 8 --flaws --estimate in-links {THREE}",
    "uic-150-flaws": f"--web GRAPH --max-pages-per-server 150 --sessions 16 --webs 6 --flaws {THREE}",
}
COLUMNS = ("nauc", "t80_breadth_first", "t80_capacity")


def run(options: str, folder: Path, jobs: int) -> None:
    """Simulate, unless the results exist."""
    if not (folder / "summary.csv").exists():
        command = [sys.executable, "-m", "scrapy", "simulate", "--nolog", "--jobs", str(jobs), "-o", str(folder)]
        subprocess.run([*command, *shlex.split(options)], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def lines(name: str, table: Path) -> list[str]:
    """Markdown rows: for each quality and policy the mean, the worst web, and the webs not below capacity."""
    with table.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    found = []
    for quality in dict.fromkeys(row["quality"] for row in rows):
        of_quality = [row for row in rows if row["quality"] == quality]
        capacity = {row["seed"]: float(row["nauc"]) for row in of_quality if row["policy"] == "capacity"}
        for policy in dict.fromkeys(row["policy"] for row in of_quality):
            mine = [row for row in of_quality if row["policy"] == policy]
            cells = []
            for column, worst in zip(COLUMNS, (min, max, max), strict=True):
                values = [float(row[column]) for row in mine]
                cells.append(f"{sum(values) / len(values):.3f} ({worst(values):.3f})")
            ahead = sum(float(row["nauc"]) >= capacity[row["seed"]] for row in mine)
            found.append(f"| {name} | {quality} | {policy} | {' | '.join(cells)} | {ahead} of {len(mine)} |")
    return found


def main() -> None:
    args = command_line(
        __doc__, graph="uic.graph.npz", output=ROOT / "results", only=",".join(ROWS), jobs=2
    ).parse_args()
    print("| row | quality | policy | nauc (worst) | t80/bf (worst) | t80/capacity (worst) | not below capacity |")
    print("|---|---|---|---|---|---|---|")
    for name in args.only.split(","):
        options = ROWS[name].replace("GRAPH", shlex.quote(str(Path(args.graph).resolve())))
        run(options, args.output.resolve() / name, args.jobs)
        print("\n".join(lines(name, args.output / name / "table.csv")), flush=True)


if __name__ == "__main__":
    main()
