"""Two crawls side by side: figures, quality over time and pages, what was lost, and settings that differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlproject.monitor.quantities import exact_duration, quality, size
from crawlproject.monitor.report.page import POINTS, crawl_of, document, name_of, part, table, text, write
from crawlproject.urls.fates import STATS, Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from crawlproject.monitor.report.facts import Facts
    from crawlproject.monitor.report.page import Made
    from crawlproject.monitor.series.samples import Sample

#: What is compared, and how its value is found; "–": it is not known.
FIGURES: dict[str, Callable[[Facts], str]] = {
    "Runs": lambda facts: f"{facts.runs}",
    "Lasted": lambda facts: exact_duration(facts.end["elapsed"]),
    "Pages": lambda facts: f"{facts.end['pages']:,.0f}",
    "Pages per second": lambda facts: f"{facts.end['pages'] / max(1.0, facts.end['elapsed']):,.3g}",
    "Quality gathered": lambda facts: quality(facts.end["gathered"]),
    "Quality, of what is known": lambda facts: _share(facts.quality_share(facts.end)),
    "80% of the quality after": lambda facts: _time(facts.most_at(0.8)),
    "Received": lambda facts: size(facts.end["bytes"]),
    "Requests": lambda facts: f"{facts.end['requests']:,.0f}",
    "Failed or refused": lambda facts: f"{facts.end['failures']:,.0f}",
    "URLs known": lambda facts: f"{facts.end['seen']:,.0f}",
    "URLs still queued": lambda facts: f"{facts.end['queued']:,.0f}",
    "Servers": lambda facts: f"{facts.end['servers']:,.0f}",
    "Connections in use": lambda facts: f"{facts.in_use():.0%}",
    "Most often held back by": lambda facts: next(iter(facts.held_back()), "–"),
    "Ended": lambda facts: str(facts.stats.get("finish_reason") or "not ended"),
}


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


def _time(value: float | None) -> str:
    return "–" if value is None else exact_duration(value)


def write_comparison(directories: Sequence[Path], target: Path) -> Made:
    """Compare the crawls in two ``directories``; the page is written to ``target``. Raises OSError, ValueError."""
    problems: list[str] = []
    data = comparison(directories, problems)
    figures = data["lost"][0]["tables"][0]
    row = next(row for row in figures["rows"] if row[0] == "Pages")
    pages = (f"{text(name)}: {count} pages." for name, count in zip(figures["names"][1:], row[1:], strict=True))
    told = f"<section><h2>Summary</h2><p>{' '.join(pages)}</p></section>"
    return write(document(told, data, problems), target, problems)


def comparison(directories: Sequence[Path], problems: list[str]) -> dict[str, Any]:
    """What a page shows of the crawls in two ``directories``. Raises OSError, ValueError."""
    crawls = [crawl_of(directory, problems) for directory in directories]
    names = [name_of(facts.snapshot) or directory.name for facts, directory in zip(crawls, directories, strict=True)]
    if names[0] == names[1]:
        names = [str(directory) for directory in directories]
    one, other = names
    figures = [{"What": what, one: show(crawls[0]), other: show(crawls[1])} for what, show in FIGURES.items()]
    lost = [
        {"Reason": reason.words, "Stage": stage, one: f"{counts[0]:,.0f}", other: f"{counts[1]:,.0f}"}
        for (stage, reason), stat in STATS.items()
        if any(counts := [facts.stat(stat) for facts in crawls]) and not reason.is_page and stage is not Stage.LINK
    ]
    found = [facts.snapshot.get("settings") for facts in crawls]
    settings = [each if isinstance(each, dict) else {} for each in found]
    keys = dict.fromkeys(key for each in settings for key in each)
    differing = [
        {"Setting": key, one: left, other: right}
        for key in keys
        for left, right in [[each.get(key, "default") for each in settings]]
        if left != right
    ]
    return {
        "title": f"{one} and {other}",
        "about": ["", "A comparison of two crawls"],
        "overview": None,
        "lost": [
            part("Figures, all runs", (), table(figures)),
            part("What was lost, and why, last run", (), table(lost, "Nothing was lost.")),
        ],
        "parts": [part("Settings that differ, last run", (), table(differing, "None."))],
        "after": [],
        "charts": "Over time, and over pages",
        "history": _curves(crawls, names, "elapsed"),
        "by_pages": _curves(crawls, names, "pages"),
        "servers": None,
    }


def _curves(crawls: Sequence[Facts], names: Sequence[str], axis: str) -> dict[str, Any]:
    """Points of both crawls, by seconds or pages from the start; None where the other one has a point."""
    highest = max(facts.end[axis] for facts in crawls)
    places = [highest * point / (POINTS // 2) for point in range(POINTS // 2 + 1)]
    values: list[Callable[[Facts, Sample], float | None]] = [
        lambda facts, sample: facts.quality_share(sample),
        *([lambda _, sample: sample["pages"]] if axis == "elapsed" else []),
        *([lambda _, sample: sample["queued"]] if axis == "elapsed" else []),
    ]
    columns: list[list[float | None]] = [
        [None if place > facts.end[axis] else value(facts, _at(facts, axis, place)) for place in places]
        for value in values
        for facts in crawls
    ]
    titles = ["Share of the known quality" + (", by pages" if axis == "pages" else ""), "Pages", "URLs queued"]
    shows = ["percent", "count", "count"]
    charts = [
        {
            "title": title,
            "show": show,
            "series": [[f"{number}/{crawl}", name[:60], ("one", "two")[crawl]] for crawl, name in enumerate(names)],
        }
        for number, (title, show, _) in enumerate(zip(titles, shows, values, strict=False))
    ]
    keys = [f"{number}/{crawl}" for number in range(len(values)) for crawl in range(2)]
    points = [[place, *row] for place, *row in zip(places, *columns, strict=True)]
    return {
        "names": ["at", *keys],
        "interval": 1,
        "points": points,
        "elapsed": True,
        "of_pages": axis == "pages",
        "charts": charts,
    }


def _at(facts: Facts, axis: str, place: float) -> Sample:
    """The last sample before ``place``. O(log samples)."""
    low, high = 0, len(facts.samples) - 1
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if facts.samples[middle][axis] <= place else (low, middle - 1)
    return facts.samples[low]
