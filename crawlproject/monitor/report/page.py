"""The HTML of a report.  Everything from the web is escaped, shortened, and shown without control characters."""

from __future__ import annotations

import json
from base64 import b64encode
from functools import cache
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from crawlproject.monitor.quantities import counted
from crawlproject.monitor.report.charts import charts
from crawlproject.monitor.report.facts import Facts, advice, runs_rows, summary, worker_row
from crawlproject.monitor.series.samples import is_number, number_of
from crawlproject.monitor.series.snapshot_file import COLUMNS
from crawlproject.monitor.server_state import STATES

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from crawlproject.monitor.report.charts import Chart
    from crawlproject.monitor.series.samples import Series

#: Folders of the library for charts, which the console has too, and of our own files.
UPLOT, OWN = ("console", "page"), ("report", "static")

#: Longest text in a cell; most servers, stats and settings in a table.
MAX_TEXT, MAX_ROWS = 200, 1000

#: Column of the table of servers -> heading, and what it means.
HEADINGS = {
    "server": ("Server", "scheme, host and port"),
    "pages": ("Pages", "pages fetched"),
    "quality": ("Quality", "sum of the estimated quality of these pages"),
    "queued": ("Queued", "URLs queued"),
    "rank": ("Rank", "quality per second that the next session is expected to bring; the best server is next"),
    "state": ("State", "; ".join(f"{state}: {meaning}" for state, meaning in STATES.items())),
    "reason": ("Reason", "why it rests, ranks last or was given up"),
    "failures": ("Failures", "failures in a row"),
    "best": ("Best", "term of the rank: quality of its best URL"),
    "batch": ("Batch", "term of the rank: pages expected of its next session"),
    "connect": ("Connect", "term of the rank: time to connect, seconds"),
    "respond": ("Respond", "term of the rank: time of a response, seconds"),
    "bonus": ("Bonus", "term of the rank: expected worth of the links on its next page"),
    "worth": ("Worth", "term of the rank: factor for copies and mirrors"),
    "urgency": ("Urgency", "term of the rank: factor for servers with long polite waits"),
    "session": ("Session", "expected time of the next session, seconds"),
    "copies": ("Copies", "pages seen elsewhere before"),
}

#: Columns that hold text.
TEXTS = frozenset(("server", "state", "reason"))
#: Columns that hold seconds.
TIMES = frozenset(("connect", "respond", "session"))


def page(
    series: Series,
    snapshot: Mapping[str, Any],
    problems: Sequence[str] = (),
    workers: Sequence[tuple[str, Facts]] = (),
) -> str:
    """The HTML of a report. ``series`` has at least one sample; ``workers``: names and facts of each, if several."""
    facts = Facts.of(series, snapshot, workers)
    whole, run = (f" ({scope})" if scope else "" for scope in facts.scopes)
    drawn = charts(facts)
    styles = _static(*UPLOT, "uPlot.css") + _static(*OWN, "report.css")
    script = _static(*UPLOT, "uPlot.js") + "\n" + _static(*OWN, "report.js")
    policy = f"default-src 'none'; style-src '{_hash(styles)}'; script-src '{_hash(script)}'; base-uri 'none'"
    data = json.dumps([chart.data() for chart in drawn], separators=(",", ":")).replace("<", "\\u003c")
    notes = [f'<p class="note" role="note">{text(problem)}</p>' for problem in problems]
    body = [
        "<header><h1>Report of a crawl</h1></header><main>",
        *notes,
        _section("Summary", f"<p>{' '.join(map(text, summary(facts)))}</p>"),
        _section("What to change", _list(advice(facts))),
        _section("Workers", _workers(workers)) if workers else "",
        _section("Runs", _runs(facts)) if facts.runs > 1 else "",
        _section(f"Over time{whole}", "".join(_chart(chart) for chart in drawn if chart.kind == "lines")),
        _section(f"What held the crawl back{whole}", _pairs("Limit", "Share of the time", _shares(facts))),
        _section(
            f"Times{run}", "".join(_chart(chart) for chart in drawn if chart.kind == "bars") or "<p>None yet.</p>"
        ),
        _section(f"Answers, failures, refusals{run}", _answers(facts)),
        _section(f"Politeness{run}", _list(_politeness(facts))),
        _section(f"Duplicates, mirrors, traps{run}", _pairs("What", "Count", _copies(facts))),
        _section(f"Servers{whole}", _servers(snapshot)),
        _section(f"Settings that differ from their defaults{run}", _settings(snapshot)),
        "</main>",
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark"><meta name="referrer" content="no-referrer">'
        f"<title>Report of a crawl</title><style>{styles}</style></head><body>{''.join(body)}"
        f'<script type="application/json" id="charts">{data}</script><script>{script}</script></body></html>\n'
    )


def text(value: object) -> str:
    """Any value as HTML text: bounded, escaped; control characters and marks of direction are made visible."""
    shown = str(value)[: MAX_TEXT * 5]
    return escape("".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in shown))


@cache
def _static(*path: str) -> str:
    return files("crawlproject.monitor").joinpath(*path).read_text(encoding="utf-8")


def _hash(content: str) -> str:
    return f"sha256-{b64encode(sha256(content.encode()).digest()).decode()}"


def _section(title: str, content: str) -> str:
    return f"<section><h2>{text(title)}</h2>{content}</section>"


def _list(sentences: Iterable[str]) -> str:
    return f"<ul>{''.join(f'<li>{text(each)}</li>' for each in sentences)}</ul>"


def _table(headings: Iterable[str], rows: Iterable[Sequence[object]], kind: str = "") -> str:
    """The first cell of each of ``rows`` is its name."""
    head = "".join(f'<th scope="col">{text(title)}</th>' for title in headings)
    body = "".join(
        f'<tr><th scope="row">{text(first)}</th>{"".join(f"<td>{text(each)}</td>" for each in rest)}</tr>'
        for first, *rest in rows
    )
    return f"<table{kind}><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _scrolled(label: str, table: str) -> str:
    return f'<div class="scroll" tabindex="0" role="region" aria-label="{text(label)}">{table}</div>'


def _chart(chart: Chart) -> str:
    return (
        f"<figure><figcaption><h3>{text(chart.title)}</h3>"
        f'<p id="chart-{chart.id}-words">{text(chart.words)}</p></figcaption>'
        f'<div class="chart" id="chart-{chart.id}" role="img" aria-label="{text(chart.title)}" '
        f'aria-describedby="chart-{chart.id}-words"></div>'
        f"<details><summary>Values: {text(chart.title)}</summary>"
        f"{_scrolled(f'Values: {chart.title}', _table(chart.names, chart.rows()))}</details></figure>"
    )


def _pairs(name: str, value: str, rows: Mapping[str, object]) -> str:
    return _table((name, value), rows.items(), ' class="pairs"') if rows else "<p>None.</p>"


def _workers(workers: Sequence[tuple[str, Facts]]) -> str:
    rows = [{"Worker": name, **worker_row(facts)} for name, facts in workers]
    table = _table(rows[0], [[*row.values()] for row in rows], ' class="pairs"')
    number = counted(len(workers), "worker")
    return f"<p>{text(number)}; the rest of this report has the sums of all.</p>{_scrolled('Workers', table)}"


def _runs(facts: Facts) -> str:
    rows = runs_rows(facts)
    return _scrolled("Runs", _table(rows[0], [[*row.values()] for row in rows], ' class="pairs"'))


def _shares(facts: Facts) -> dict[str, str]:
    return {reason: f"{share:.0%}" for reason, share in facts.held_back().items()}


def _answers(facts: Facts) -> str:
    statuses = {
        name.rpartition("/")[2]: f"{count:,}"
        for name, count in sorted(facts.stats.items())
        if name.startswith("downloader/response_status_count/") and is_number(count)
    }
    failures = {kind: f"{count:,}" for kind, count in list(facts.failures.items())[:MAX_ROWS]}
    requests = f"{facts.stat('downloader/request_count'):,.0f} requests, robots.txt files among them"
    return (
        f"<p>Of the last run{facts.as_of}: {requests}.</p>"
        f'<div class="columns"><div><h3>Status codes</h3>{_pairs("Status", "Answers", statuses)}</div>'
        f"<div><h3>Failures, refusals, retries</h3>{_pairs('Kind', 'Count', failures)}</div></div>"
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
    found.append(f"{facts.stat('robotstxt/forbidden'):,.0f} requests were not sent because robots.txt disallows them.")
    return found


def _copies(facts: Facts) -> dict[str, str]:
    counts = {
        "pages compared": facts.stat("duplicates/pages"),
        "exact copies": facts.stat("duplicates/exact"),
        "near copies": facts.stat("duplicates/near"),
        "mirrors": facts.stat("duplicates/mirrors") or number_of(facts.snapshot.get("mirrors")),
        "servers ranked last as traps": facts.stat("guard/servers") or number_of(facts.snapshot.get("guarded")),
        "dropped patterns of URLs": facts.stat("guard/patterns"),
        "their URLs": facts.stat("guard/dropped"),
    }
    return {name: f"{count:,.0f}" for name, count in counts.items()}


def _servers(snapshot: Mapping[str, Any]) -> str:
    rows, columns = snapshot.get("servers"), snapshot.get("columns")
    if not isinstance(rows, list) or columns != list(COLUMNS):
        return "<p>Not known.</p>"
    head = "".join(
        f'<th scope="col" class="{"" if name in TEXTS else "number"}"><button type="button" '
        f'title="{text(meaning)}">{text(title)}</button></th>'
        for name, (title, meaning) in HEADINGS.items()
    )
    body = "".join(_server(row) for row in rows[:MAX_ROWS] if isinstance(row, list) and len(row) == len(COLUMNS))
    meanings = "".join(f"<dt>{text(title)}</dt><dd>{text(meaning)}</dd>" for title, meaning in HEADINGS.values())
    return (
        f"<p>{text(_rest(snapshot.get('rest'), len(rows)))}</p>"
        f"<details><summary>What the columns mean</summary><dl>{meanings}</dl></details>"
        '<p class="search"><label for="search">Search servers</label> '
        '<input id="search" type="search" autocomplete="off"> <span id="found" role="status"></span></p>'
        + _scrolled("Servers", f'<table id="servers"><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>')
    )


def _server(row: Sequence[Any]) -> str:
    cells = []
    for name, value in zip(COLUMNS, row, strict=True):
        if name in TEXTS:
            shown = f"<bdi>{text(str(value)[:MAX_TEXT])}</bdi>"
            cells.append(f'<th scope="row">{shown}</th>' if name == "server" else f"<td>{shown}</td>")
        else:
            number = number_of(value)
            shown = f"{number:,.3f}" if name in TIMES else f"{number:,.4g}"
            cells.append(f'<td class="number" data-value="{number!r}">{shown}</td>' if number else "<td></td>")
    return f"<tr>{''.join(cells)}</tr>"


def _rest(rest: object, shown: int) -> str:
    given = rest if isinstance(rest, dict) else {}
    counts = {name: number_of(given.get(name)) for name in ("servers", "pages", "quality", "queued")}
    servers = counts["servers"]
    if not servers:
        return f"All {shown:,} servers."
    return (
        f"The {shown:,} servers with the most pages, of the last snapshot. The other {servers:,} have "
        f"{counts['pages']:,} pages, quality {counts['quality']:,.4g}, {counts['queued']:,} URLs "
        "queued."
    )


def _settings(snapshot: Mapping[str, Any]) -> str:
    settings = snapshot.get("settings")
    if not isinstance(settings, dict):
        return "<p>Not known.</p>"
    order = "<p>Those of the command line first, then the spider's, then the project's.</p>"
    return order + _pairs("Setting", "Value", dict(list(settings.items())[:MAX_ROWS]))
