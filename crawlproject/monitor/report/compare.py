"""Two crawls side by side: figures, quality over time and pages, what was lost, and settings that differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crawlproject.monitor.quantities import duration
from crawlproject.monitor.report.facts import worker_row
from crawlproject.monitor.report.page import POINTS, crawl_of, document, name_of, part, table, text, write
from crawlproject.urls.fates import STATS, Stage

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from crawlproject.monitor.report.facts import Facts
    from crawlproject.monitor.report.page import Made
    from crawlproject.monitor.series.samples import Sample

#: A curve: title, how the page shows its values, and the value at a sample.
Curve = tuple[str, str, "Callable[[Facts, Sample], float | None]"]

#: Over time; over pages only the first one.
CURVES: tuple[Curve, ...] = (
    ("Share of the known quality", "percent", lambda facts, sample: facts.quality_share(sample)),
    ("Pages", "count", lambda _, sample: sample["pages"]),
    ("URLs queued", "count", lambda _, sample: sample["queued"]),
)


def write_comparison(directories: Sequence[Path], target: Path) -> Made:
    """Compare the crawls in two ``directories``; the page is written to ``target``. Raises OSError, ValueError."""
    problems: list[str] = []
    data = comparison(directories, problems)
    told = f"<section><h2>Summary</h2><p>{text(data['summary'])}</p></section>"
    return write(document(told, data, problems), target, problems)


def comparison(directories: Sequence[Path], problems: list[str]) -> dict[str, Any]:
    """What a page shows of the crawls in two ``directories``. Raises OSError, ValueError."""
    crawls = [crawl_of(directory, problems) for directory in directories]
    names = [name_of(facts.snapshot) or directory.name for facts, directory in zip(crawls, directories, strict=True)]
    if names[0] == names[1]:
        names = [str(directory) for directory in directories]
    left, right = map(_figures, crawls)
    figures = [{"What": what, **dict(zip(names, (left[what], right[what]), strict=True))} for what in left]
    lost = [
        {"Reason": reason.words, "Stage": stage, **dict(zip(names, (f"{count:,.0f}" for count in counts), strict=True))}
        for (stage, reason), stat in STATS.items()
        if any(counts := [facts.stat(stat) for facts in crawls]) and not reason.is_page and stage is not Stage.LINK
    ]
    settings = [facts.snapshot.get("settings", {}) for facts in crawls]
    differing = [
        {"Setting": key, **dict(zip(names, values, strict=True))}
        for key in dict.fromkeys(key for each in settings for key in each)
        if len(set(values := [each.get(key, "default") for each in settings])) > 1
    ]
    pages = (f"{name}: {facts.end['pages']:,.0f} pages." for name, facts in zip(names, crawls, strict=True))
    return {
        "title": " and ".join(names),
        "about": ["", "A comparison of two crawls"],
        "summary": " ".join(pages),
        "overview": None,
        "lost": [
            part("Figures, all runs", table(figures)),
            part("What was lost, and why, last run", table(lost, "Nothing was lost.")),
        ],
        "parts": [part("Settings that differ, last run", table(differing, "None."))],
        "after": [],
        "charts": "Over time, and over pages",
        "history": _curves(crawls, names, "elapsed", CURVES),
        "by_pages": _curves(crawls, names, "pages", CURVES[:1]),
        "servers": None,
    }


def _figures(facts: Facts) -> dict[str, str]:
    most = facts.most_at(0.8)
    return {"Runs": f"{facts.runs}", **worker_row(facts)} | {
        "80% of the quality after": "–" if most is None else duration(most),
        "URLs known": f"{facts.end['seen']:,.0f}",
        "Servers": f"{facts.end['servers/known']:,.0f}",
    }


def _curves(crawls: Sequence[Facts], names: Sequence[str], axis: str, curves: Sequence[Curve]) -> dict[str, Any]:
    """Points of both crawls, by seconds or pages from the start; None after the end of one."""
    highest = max(facts.end[axis] for facts in crawls)
    places = [highest * point / (POINTS // 2) for point in range(POINTS // 2 + 1)]
    points = [
        [
            place,
            *(
                None if place > facts.end[axis] else value(facts, facts.at(place, axis))
                for _, _, value in curves
                for facts in crawls
            ),
        ]
        for place in places
    ]
    charts = [
        {
            "title": f"{title}, by pages" if axis == "pages" else title,
            "show": show,
            "series": [[f"{number}/{crawl}", name[:60], ("one", "two")[crawl]] for crawl, name in enumerate(names)],
        }
        for number, (title, show, _) in enumerate(curves)
    ]
    keys = [f"{number}/{crawl}" for number in range(len(curves)) for crawl in range(2)]
    found = {"names": ["at", *keys], "interval": 1, "points": points, "charts": charts}
    return found | {"elapsed": True, "of_pages": axis == "pages"}
