"""Makes and writes the HTML of a report: the console's charts, tables and styles, with their data in it.

The summary is HTML, for readers without scripts; all else is JSON that ``console/page/report.js`` shows.  Everything
from the web is shortened; the script writes it as text nodes, without characters that could deceive.
"""

from __future__ import annotations

import json
from base64 import b64encode
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from typing import TYPE_CHECKING, Any

from crawlproject.frontier.observed_times import quantile
from crawlproject.monitor.console.page_files import one_script, page_file
from crawlproject.monitor.quantities import duration, quality
from crawlproject.monitor.report.facts import Facts, advice, runs_rows, spider_rows, summary, worker_row, written_time
from crawlproject.monitor.report.joint import Worker, joint_series, joint_snapshot, worker_directories
from crawlproject.monitor.series.samples import FILE_NAME, KINDS, SNAPSHOT_NAME, Series, read_series, read_snapshot
from crawlproject.options.monitor import REPORT_FOLDER
from crawlproject.storage.errors import plain_message
from crawlproject.storage.replacing import replace_file
from crawlproject.urls.fates import EXAMPLES, STATS, Reason, Stage

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from crawlproject.monitor.series.samples import Sample


#: Longest text; most rows of a table; points of a curve.
MAX_TEXT, MAX_ROWS, POINTS = 200, 1000, 400

#: Examples of a reason that are shown.
MAX_EXAMPLES = 3

#: Modules of the page, those first that others need.
SCRIPTS = ("format.js", "overview.js", "tables.js", "charts.js", "report.js")

#: Kind of times in the snapshot -> its name.
TIMES = {"connect": "connect", "response": "response", "waits": "wait between two requests to a server"}

#: Figures that the charts show as they were sampled.
CHARTED = (
    *("pages", "sessions", "session_limit", "queued", "cpu", "servers/ready", "servers/resting", "quality_gathered"),
)

REPORT_NAME = "report.html"


def page(facts: Facts, problems: Sequence[str] = ()) -> str:
    """The HTML of a report of a crawl, which has at least one sample."""
    snapshot = facts.snapshot
    whole, run = (f" ({scope})" if scope else "" for scope in facts.scopes)
    servers, spiders = snapshot.get("servers", []), spider_rows(facts.stats)
    workers = [{"Worker": name, **worker_row(each)} for name, each in facts.workers]
    name = name_of(snapshot)
    held = {KINDS[kind]: f"{share:.0%}" for kind, share in facts.held.items()}
    data = {
        "title": f"Report of {name}" if name else "Report of a crawl",
        "about": _about(facts),
        "overview": _overview(facts),
        "lost": [
            part(f"What was lost, and why{run}", _lost(facts, of_links=False)),
            part(f"Links that were not followed{run}", _lost(facts, of_links=True)),
        ],
        "charts": f"Over time{whole}",
        "servers_title": f"Servers{whole}",
        "history": history_of(facts),
        "parts": [
            *([part("Workers", table(workers))] if workers else []),
            *([part("Runs", table(runs_rows(facts)))] if facts.runs > 1 else []),
        ],
        "after": [
            part(f"What held the crawl back{whole}", pairs("Limit", "Share of the time", held)),
            *([part(f"Spiders{run}", table(spiders))] if spiders else []),
            part(f"Times{run}", _times(facts)),
            _answers(facts, run),
            part(f"Politeness{run}", sentences=_politeness(facts)),
            part(f"Duplicates, traps{run}", pairs("What", "Count", _copies(facts))),
            part(
                f"Settings that differ from their defaults{run}",
                pairs("Setting", "Value", snapshot.get("settings", {})),
                sentences=["Those of the command line first, then the spider's, then the project's."],
            ),
            *([part(f"The other servers{whole}", sentences=[_rest(snapshot["rest"])])] if servers else []),
        ],
        "servers": servers,
    }
    told = f"<section><h2>Summary</h2><p>{' '.join(map(text, summary(facts)))}</p></section>"
    told += f"<section><h2>What to change</h2><ul>{''.join(f'<li>{text(each)}</li>' for each in advice(facts))}</ul>"
    return document(f"{told}</section>", data, problems)


def document(told: str, data: Mapping[str, Any], problems: Sequence[str] = ()) -> str:
    """The page with what is ``told`` in HTML, and ``data`` for its script."""
    notes = "".join(f'<p class="note" role="note">{text(problem)}</p>' for problem in problems)
    body = page_file("report.html").replace("<!-- notes -->", notes).replace("<!-- summary -->", told)
    styles, library = page_file("uPlot.css") + page_file("console.css"), page_file("uPlot.js")
    script = one_script(*SCRIPTS)
    policy = f"default-src 'none'; style-src '{_hash(styles)}'; script-src '{_hash(library)}' '{_hash(script)}'"
    written = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}; base-uri \'none\'">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
        f"<title>{text(data['title'])}</title><style>{styles}</style></head>{body}"
        f'<script type="application/json" id="data">{written}</script>'
        f'<script>{library}</script><script type="module">{script}</script></html>\n'
    )


def text(value: object) -> str:
    """Any value as HTML text: bounded, escaped; control characters and marks of direction are made visible."""
    shown = str(value)[: MAX_TEXT * 5]
    return escape("".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in shown))


def _hash(content: str) -> str:
    return f"sha256-{b64encode(sha256(content.encode()).digest()).decode()}"


def part(title: str, *tables: dict[str, Any], sentences: Sequence[str] = ()) -> dict[str, Any]:
    return {"title": title, "sentences": sentences, "tables": tables}


def table(rows: Sequence[Mapping[str, object]], none: str = "None.", most: int = MAX_TEXT) -> dict[str, Any]:
    cells = [[str(each)[:most] for each in row.values()] for row in rows[:MAX_ROWS]]
    return {"names": list(rows[0]) if rows else [], "rows": cells, "none": none}


def pairs(name: str, value: str, rows: Mapping[str, object], none: str = "None.") -> dict[str, Any]:
    return table([{name: key, value: each} for key, each in rows.items()], none)


def name_of(snapshot: Mapping[str, Any]) -> str:
    """Of the crawl; empty if it is not known."""
    return str(snapshot.get("name") or "")[:MAX_TEXT]


def _about(facts: Facts) -> list[str]:
    """State and sentence of the header."""
    reason, spider = facts.stats.get("finish_reason"), facts.snapshot.get("spider")
    state = f"ended: {str(reason)[:MAX_TEXT].replace('_', ' ')}" if reason else "not ended"
    parts = [f"spider {spider}"] if spider else []
    parts.append(f"started {written_time(facts.began, '%Y-%m-%d %H:%M')} UTC")
    parts.append(f"ran {duration(facts.end['elapsed'])}")
    parts.append(f"last sign of life {written_time(facts.last, '%Y-%m-%d %H:%M')} UTC")
    return [state, " · ".join(parts)]


def _overview(facts: Facts) -> dict[str, Any]:
    """The figures of the first screen, by their names in the console's API."""
    end = facts.end
    return end | {
        "ended": True,
        "scope": facts.scopes[0] or "this run",
        "mean_pages_per_second": facts.pages_per_second,
        "quality_share": facts.quality_share(end),
        "progress": {"what": "queue", "done": max(0.0, end["seen"] - end["queued"]), "of": end["seen"]},
        "items": facts.stats.get("item_scraped_count"),
        "held_back": facts.most_held(),
    }


def _lost(facts: Facts, *, of_links: bool) -> dict[str, Any]:
    """URLs that are no pages, by what became of them, most first, with examples."""
    examples = facts.snapshot.get("examples", {})
    places = [(stage, reason) for stage, reason in STATS if (stage is Stage.LINK) == of_links and not reason.is_page]
    counts = {place: count for place in places if (count := facts.stat(STATS[place]))}
    rows = [
        {
            "Reason": reason.words,
            "URLs": f"{count:,.0f}",
            "What to change": reason.change or "nothing need be",
            "Examples": " ".join(url[:MAX_TEXT] for url in examples.get(f"{stage}/{reason}", ())[:MAX_EXAMPLES])
            or "none kept",
        }
        for (stage, reason), count in sorted(counts.items(), key=lambda each: -each[1])
    ]
    return table(rows, "Nothing." if of_links else "Nothing was lost.", EXAMPLES * MAX_TEXT)


def history_of(facts: Facts) -> dict[str, Any]:
    """The points of the charts, as the console's API has them; of time that the crawl ran."""
    count = len(facts.samples)
    chosen = range(count) if count <= POINTS else [round(i * (count - 1) / (POINTS - 1)) for i in range(POINTS)]
    samples = [facts.samples[place] for place in chosen]
    names = (*CHARTED, "relevant") if facts.has_topic else CHARTED
    columns: dict[str, Sequence[float | None]] = {
        "at": [each["elapsed"] for each in samples],
        "share": [facts.quality_share(each) for each in samples],
        "expected": [facts.expected_share(each) for each in samples],
        "pages_per_second": _rates(samples, "pages"),
        "bytes_per_second": _rates(samples, "bytes"),
        **{name: [each[name] for each in samples] for name in names},
    }
    rows = zip(*columns.values(), strict=True)
    points = [[None if value is None else float(f"{value:.5g}") for value in row] for row in rows]
    return {"names": list(columns), "interval": 1, "points": points, "elapsed": True}


def _rates(samples: Sequence[Sample], name: str) -> list[float | None]:
    rates: list[float | None] = []
    before: Sample = dict.fromkeys(("elapsed", name), 0.0)
    for sample in samples:
        seconds = sample["elapsed"] - before["elapsed"]
        rates.append(max(0.0, sample[name] - before[name]) / seconds if seconds > 0 else None)
        before = sample
    return rates


def _times(facts: Facts) -> dict[str, Any]:
    shares = {"Median": 0.5, "90%": 0.9, "99%": 0.99}
    rows = [
        {"What": name, "Number": f"{sum(counts):,}"}
        | {title: _time(quantile(counts, share) or 0.0) for title, share in shares.items()}
        for key, name in TIMES.items()
        if sum(counts := facts.snapshot.get(key, []))
    ]
    return table(rows, "None yet.")


def _time(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    return f"{seconds:.2g} s" if seconds < 10 else duration(seconds)


def _answers(facts: Facts, run: str) -> dict[str, Any]:
    statuses = {
        name.rpartition("/")[2]: f"{count:,}"
        for name, count in sorted(facts.stats.items())
        if name.startswith("downloader/response_status_count/")
    }
    has_ended = "finish_reason" in facts.stats or "at" not in facts.snapshot
    as_of = "" if has_ended else f", as of {written_time(facts.snapshot['at'])} UTC"
    requests = f"{facts.stat('downloader/request_count'):,.0f} requests, robots.txt files among them"
    told = [f"Of the last run{as_of}: {requests}."]
    return part(f"Answers{run}", pairs("Status", "Answers", statuses, "No answer."), sentences=told)


def _politeness(facts: Facts) -> list[str]:
    snapshot = facts.snapshot
    if not snapshot:
        return ["Not known."]
    found = [f"{snapshot['too_early'] or 'No'} requests were sent before their server's polite wait was over."]
    if (shortest := snapshot["shortest_wait"]) is not None:
        found.append(
            f"Between the end of an answer and the next request to the same server there were {shortest:.3f} s at "
            f"least (within a connection where politeness counts sessions), {snapshot['longest_wait']:.1f} s at most."
        )
    forbidden = facts.stat(STATS[Stage.REQUEST, Reason.ROBOTS])
    found.append(f"{facts.stat('frontier/crawl_delays'):,.0f} robots.txt files asked for a Crawl-delay.")
    found.append(f"{forbidden:,.0f} requests were not sent because robots.txt disallows them.")
    return found


def _copies(facts: Facts) -> dict[str, str]:
    snapshot = facts.snapshot
    counts = {
        "pages compared": facts.stat("duplicates/pages"),
        "exact copies": facts.stat("duplicates/exact"),
        "near copies": facts.stat("duplicates/near"),
        "URLs left that come last (nothing new on pages like theirs)": snapshot.get("doubted", 0),
        "dropped patterns of URLs": facts.stat("guard/patterns"),
        "their URLs": facts.stat("guard/dropped"),
    }
    return {name: f"{count:,.0f}" for name, count in counts.items()}


def _rest(rest: Mapping[str, float]) -> str:
    if not rest["servers"]:
        return "None: the table has all."
    return (
        f"The table has the servers with the most pages. The other {rest['servers']:,} have {rest['pages']:,} pages, "
        f"quality {quality(rest['gathered'])}, {rest['urls']:,} URLs queued."
    )


@dataclass(frozen=True)
class Made:
    """A report in ``path``; ``problems``: what is missing in it, in words."""

    path: Path
    problems: tuple[str, ...]


def place_of(directory: Path) -> Path:
    """Where the figures of the crawl with this JOBDIR, or FRONTIER_REPORT_DIR, are."""
    is_job = not (directory / FILE_NAME).exists() and (directory / REPORT_FOLDER / FILE_NAME).exists()
    return directory / REPORT_FOLDER if is_job else directory


def has_figures(directory: Path) -> bool:
    """Whether ``crawl_of`` may find a crawl in ``directory``."""
    return (place_of(directory) / FILE_NAME).exists() or bool(worker_directories(directory))


def crawl_of(directory: Path, problems: list[str]) -> Facts:
    """The crawl whose figures are in ``directory`` (see ``place_of``), by one process or several; what is missing is
    added to ``problems``. Raises OSError, ValueError if there is none."""
    directory = place_of(directory)
    if (directory / FILE_NAME).exists():
        facts = Facts.of(*_read(directory, problems))
    else:
        workers = _workers_below(directory, problems)
        each = [(worker.name, Facts.of(worker.series, worker.snapshot)) for worker in workers if len(worker.series)]
        facts = Facts.of(joint_series(workers), joint_snapshot(workers), each)
    if not facts.samples:
        raise ValueError(
            f"{directory}: no series of a crawl ({FILE_NAME}); it is kept in JOBDIR, or in FRONTIER_REPORT_DIR"
        )
    return facts


def write_report(directory: Path, target: Path | None = None) -> Made:
    """Make the report of the crawl in ``directory``, and write it to ``target`` or beside its figures.

    Raises OSError, ValueError if there is no series, or none that can be read.
    """
    problems: list[str] = []
    content = page(crawl_of(directory, problems), problems)
    return write(content, place_of(directory) if target is None else target, problems)


def _workers_below(directory: Path, problems: list[str]) -> list[Worker]:
    workers = []
    for place in worker_directories(directory):
        name = place.name if place.parent == directory else place.parent.name
        try:
            workers.append(Worker(name, *_read(place, problems)))
        except (OSError, ValueError) as error:
            problems.append(f"{name} is missing in the report: {plain_message(error)}")
    return workers


def _read(directory: Path, problems: list[str]) -> tuple[Series, dict[str, Any]]:
    """Series and snapshot in ``directory``; what is damaged is added to ``problems``. Raises OSError, ValueError."""
    series = read_series(directory / FILE_NAME)
    if series.damaged:
        problems.append(f"{directory / FILE_NAME}: damaged lines were skipped: {series.damaged}")
    try:
        return series, read_snapshot(directory / SNAPSHOT_NAME)
    except (OSError, ValueError) as error:
        problems.append(f"no servers, stats or settings in the report: {plain_message(error)}")
        return series, {}


def write(content: str, target: Path, problems: Sequence[str]) -> Made:
    path = target / REPORT_NAME if target.is_dir() else target
    if path.is_symlink() or (path.exists() and not path.is_file()):  # to a pipe or a file: /dev/stdout; a device
        path.write_text(content, encoding="utf-8")
    else:
        replace_file(path, content, is_durable=False)
    return Made(path, tuple(problems))
