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
from math import isfinite
from typing import TYPE_CHECKING, Any

from crawlproject.frontier.observed_times import quantile
from crawlproject.monitor.console.page_files import one_script, page_file
from crawlproject.monitor.quantities import counted, duration, exact_duration, quality
from crawlproject.monitor.report.facts import Facts, advice, runs_rows, spider_rows, summary, worker_row, written_time
from crawlproject.monitor.report.joint import Worker, joint_series, joint_snapshot, worker_directories
from crawlproject.monitor.series.samples import FILE_NAME, Series, is_number, number_of, read_series
from crawlproject.monitor.series.snapshot_file import FILE_NAME as SNAPSHOT_NAME
from crawlproject.monitor.series.snapshot_file import read_snapshot
from crawlproject.options.monitor import REPORT_FOLDER
from crawlproject.storage.errors import plain_message
from crawlproject.storage.replacing import replace_file
from crawlproject.urls.fates import EXAMPLES, STATS, Reason, Stage

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from crawlproject.monitor.series.samples import Sample, Series


#: Longest text; most rows of a table; points of a curve.
MAX_TEXT, MAX_ROWS, POINTS = 200, 1000, 400

#: Examples of a reason that are shown.
MAX_EXAMPLES = 3

#: Modules of the page, those first that others need.
SCRIPTS = ("format.js", "overview.js", "tables.js", "charts.js", "report.js")

#: Columns of a server.
TEXTS = ("server", "state", "error")
NUMBERS = (
    *("pages", "gathered", "urls", "rank", "failures", "quality", "batch", "connect_time", "response_time"),
    *("bonus", "worth", "urgency", "session_time", "copies"),
)

#: Kind of times in the snapshot -> its name.
TIMES = {"connect": "connect", "response": "response", "waits": "wait between two requests to a server"}


def page(facts: Facts, problems: Sequence[str] = ()) -> str:
    """The HTML of a report of a crawl, which has at least one sample."""
    snapshot = facts.snapshot
    whole, run = (f" ({scope})" if scope else "" for scope in facts.scopes)
    rows = snapshot.get("servers")
    known = rows if isinstance(rows, list) else []
    name = name_of(snapshot)
    data = {
        "title": f"Report of {name}" if name else "Report of a crawl",
        "about": _about(facts),
        "overview": _overview(facts),
        "lost": [
            part(f"What was lost, and why{run}", (), _lost(facts, of_links=False)),
            part(f"Links that were not followed{run}", (), _lost(facts, of_links=True)),
        ],
        "charts": f"Over time{whole}",
        "servers_title": f"Servers{whole}",
        "history": history_of(facts),
        "parts": [*_workers(facts.workers), *([part("Runs", (), table(runs_rows(facts)))] if facts.runs > 1 else [])],
        "after": [
            part(f"What held the crawl back{whole}", (), _pairs("Limit", "Share of the time", _shares(facts))),
            *([part(f"Spiders{run}", (), table(spiders))] if (spiders := spider_rows(facts.stats)) else []),
            part(f"Times{run}", (), _times(facts)),
            _answers(facts, run),
            part(f"Politeness{run}", _politeness(facts)),
            part(f"Duplicates, traps{run}", (), _pairs("What", "Count", _copies(facts))),
            _settings(snapshot, run),
            *([part(f"The other servers{whole}", [_rest(snapshot.get("rest"))])] if known else []),
        ],
        "servers": [_server(row) for row in known[:MAX_ROWS] if isinstance(row, dict) and "server" in row],
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


def part(title: str, sentences: Iterable[str], *tables: dict[str, Any]) -> dict[str, Any]:
    return {"title": title, "sentences": [str(each)[: MAX_TEXT * 5] for each in sentences], "tables": tables}


def table(rows: Sequence[Mapping[str, object]], none: str = "None.", most: int = MAX_TEXT) -> dict[str, Any]:
    cells = [[str(each)[:most] for each in row.values()] for row in rows[:MAX_ROWS]]
    return {"names": list(rows[0]) if rows else [], "rows": cells, "none": none}


def _pairs(name: str, value: str, rows: Mapping[str, object], none: str = "None.") -> dict[str, Any]:
    return table([{name: key, value: each} for key, each in rows.items()], none)


def name_of(snapshot: Mapping[str, Any]) -> str:
    """Of the crawl; empty if it is not known."""
    return str(snapshot.get("name") or "")[:MAX_TEXT]


def _about(facts: Facts) -> list[str]:
    """State and sentence of the header."""
    reason = facts.stats.get("finish_reason")
    state = f"ended: {str(reason)[:MAX_TEXT].replace('_', ' ')}" if reason else "not ended"
    spider = facts.snapshot.get("spider")
    parts = [f"spider {str(spider)[:MAX_TEXT]}"] if spider else []
    parts.append(f"started {written_time(facts.began, '%Y-%m-%d %H:%M')} UTC")
    parts.append(f"ran {exact_duration(facts.end['elapsed'])}")
    parts.append(f"last sign of life {written_time(facts.last, '%Y-%m-%d %H:%M')} UTC")
    return [state, " · ".join(parts)]


def _overview(facts: Facts) -> dict[str, Any]:
    """The figures of the first screen, by their names in the console's API."""
    end, held = facts.end, next(iter(facts.held_back().items()), None)
    seen = end["seen"]
    return {
        "ended": True,
        "scope": facts.scopes[0] or "this run",
        "pages": end["pages"],
        "mean_pages_per_second": _finite(end["pages"] / max(1.0, end["elapsed"])),
        "quality_share": facts.quality_share(end),
        "quality_gathered": _finite(end["gathered"]),
        "seen": seen,
        "progress": {"what": "queue", "done": max(0.0, seen - end["queued"]), "of": seen},
        "queued": end["queued"],
        "blocked": end["blocked"],
        "bytes": end["bytes"],
        "failures": {"all": end["failures"]},
        "servers/known": end["servers"],
        "servers/given_up": end["given_up"],
        "items": facts.stats.get("item_scraped_count") if is_number(facts.stats.get("item_scraped_count")) else None,
        "relevant": end["relevant"],
        "held_back": f"{held[0]} ({held[1]:.0%} of the time)" if held is not None else "",
    }


def _lost(facts: Facts, *, of_links: bool) -> dict[str, Any]:
    """URLs that are no pages, by what became of them, most first, with examples."""
    found = facts.snapshot.get("examples")
    examples = found if isinstance(found, dict) else {}
    places = [(stage, reason) for stage, reason in STATS if (stage is Stage.LINK) == of_links and not reason.is_page]
    counts = {place: count for place in places if (count := facts.stat(STATS[place]))}
    rows = []
    for (stage, reason), count in sorted(counts.items(), key=lambda each: -each[1]):
        urls = examples.get(f"{stage}/{reason}")
        some = [str(url)[:MAX_TEXT] for url in urls[:EXAMPLES]] if isinstance(urls, list) else []
        row = {"Reason": reason.words, "URLs": f"{count:,.0f}", "What to change": reason.change or "nothing need be"}
        rows.append(row | {"Examples": " ".join(some[:MAX_EXAMPLES]) or "none kept"})
    return table(rows, "Nothing." if of_links else "Nothing was lost.", EXAMPLES * MAX_TEXT)


def history_of(facts: Facts) -> dict[str, Any]:
    """The points of the charts, as the console's API has them; of time that the crawl ran."""
    count = len(facts.samples)
    chosen = range(count) if count <= POINTS else [round(i * (count - 1) / (POINTS - 1)) for i in range(POINTS)]
    samples = [facts.samples[place] for place in chosen]
    columns: dict[str, Sequence[float | None]] = {
        "at": [each["elapsed"] for each in samples],
        "share": [facts.quality_share(each) for each in samples],
        "expected": [facts.expected_share(each) for each in samples],
        "pages_per_second": _rates(samples, "pages"),
        "bytes_per_second": _rates(samples, "bytes"),
        **{name: [each[name] for each in samples] for name in ("pages", "sessions", "session_limit", "queued", "cpu")},
        **{f"servers/{name}": [each[name] for each in samples] for name in ("ready", "resting")},
        "quality_gathered": [each["gathered"] for each in samples],
    }
    if facts.has_topic:
        columns["relevant"] = [each["relevant"] for each in samples]
    points = [[_finite(value) for value in row] for row in zip(*columns.values(), strict=True)]
    return {"names": list(columns), "interval": 1, "points": points, "elapsed": True}


def _finite(value: float | None) -> float | None:
    return None if value is None or not isfinite(value) else float(f"{value:.5g}")


def _rates(samples: Sequence[Sample], name: str) -> list[float | None]:
    rates: list[float | None] = []
    before: Sample = dict.fromkeys(("elapsed", name), 0.0)
    for sample in samples:
        seconds = sample["elapsed"] - before["elapsed"]
        rates.append(max(0.0, sample[name] - before[name]) / seconds if seconds > 0 else None)
        before = sample
    return rates


def _workers(workers: Sequence[tuple[str, Facts]]) -> list[dict[str, Any]]:
    if not workers:
        return []
    told = f"{counted(len(workers), 'worker')}; the rest of this report has the sums of all."
    return [part("Workers", [told], table([{"Worker": name, **worker_row(facts)} for name, facts in workers]))]


def _shares(facts: Facts) -> dict[str, str]:
    return {reason: f"{share:.0%}" for reason, share in facts.held_back().items()}


def _times(facts: Facts) -> dict[str, Any]:
    bounds, rows = facts.snapshot.get("bounds"), []
    for key, name in TIMES.items():
        counts = facts.snapshot.get(key)
        if not isinstance(bounds, list) or not isinstance(counts, list) or len(counts) != len(bounds) + 1:
            continue
        if all(map(is_number, counts)) and sum(counts) > 0:
            found = {title: quantile(counts, share) for title, share in (("Median", 0.5), ("90%", 0.9), ("99%", 0.99))}
            written = {title: "–" if time is None else _time(time) for title, time in found.items()}
            rows.append({"What": name, "Number": f"{sum(counts):,.0f}", **written})
    return table(rows, "None yet.")


def _time(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    return f"{seconds:.2g} s" if seconds < 10 else duration(seconds)


def _answers(facts: Facts, run: str) -> dict[str, Any]:
    statuses = {
        name.rpartition("/")[2]: f"{count:,}"
        for name, count in sorted(facts.stats.items())
        if name.startswith("downloader/response_status_count/") and is_number(count)
    }
    requests = f"{facts.stat('downloader/request_count'):,.0f} requests, robots.txt files among them"
    return part(
        f"Answers{run}",
        [f"Of the last run{facts.as_of}: {requests}."],
        _pairs("Status", "Answers", statuses, "No answer."),
    )


def _politeness(facts: Facts) -> list[str]:
    snapshot = facts.snapshot
    if "too_early" not in snapshot:
        return ["Not known."]
    early = snapshot["too_early"]
    found = [
        "No request was sent before its server's polite wait was over."
        if not early
        else f"{early} requests were sent before their server's polite wait was over."
    ]
    shortest, longest = snapshot.get("shortest_wait"), snapshot.get("longest_wait")
    if is_number(shortest) and is_number(longest):
        found.append(
            f"Between the end of an answer and the next request to the same server there were {shortest:.3f} s at "
            f"least (within a connection where politeness counts sessions), {longest:.1f} s at most."
        )
    delays = facts.stat("frontier/crawl_delays")
    found.append(f"{delays:,.0f} robots.txt files asked for a Crawl-delay.")
    forbidden = facts.stat(STATS[Stage.REQUEST, Reason.ROBOTS])
    found.append(f"{forbidden:,.0f} requests were not sent because robots.txt disallows them.")
    return found


def _copies(facts: Facts) -> dict[str, str]:
    counts = {
        "pages compared": facts.stat("duplicates/pages"),
        "exact copies": facts.stat("duplicates/exact"),
        "near copies": facts.stat("duplicates/near"),
        "URLs left that come last (nothing new on pages like theirs)": number_of(facts.snapshot.get("doubted")),
        "servers ranked last as traps": facts.stat("guard/servers") or number_of(facts.snapshot.get("guarded")),
        "dropped patterns of URLs": facts.stat("guard/patterns"),
        "their URLs": facts.stat("guard/dropped"),
    }
    return {name: f"{count:,.0f}" for name, count in counts.items()}


def _server(row: Mapping[str, Any]) -> dict[str, Any]:
    texts = {name: str(row.get(name))[:MAX_TEXT] for name in TEXTS}
    measured = row.get("measured", bool(number_of(row.get("pages"))))
    return texts | {"measured": bool(measured)} | {name: number_of(row.get(name)) for name in NUMBERS}


def _rest(rest: object) -> str:
    given = rest if isinstance(rest, dict) else {}
    servers, pages, gathered, queued = (number_of(given.get(name)) for name in ("servers", "pages", "gathered", "urls"))
    if not servers:
        return "None: the table has all."
    return (
        f"The table has the servers with the most pages. The other {servers:,} have {pages:,} pages, quality "
        f"{quality(gathered)}, {queued:,} URLs queued."
    )


def _settings(snapshot: Mapping[str, Any], run: str) -> dict[str, Any]:
    settings = snapshot.get("settings")
    order = "Those of the command line first, then the spider's, then the project's."
    known = settings if isinstance(settings, dict) else {}
    return part(f"Settings that differ from their defaults{run}", [order], _pairs("Setting", "Value", known))


REPORT_NAME = "report.html"


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
