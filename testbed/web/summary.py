"""A crawl in ten lines, from the access log of the web that it crawled."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from . import analysis

if TYPE_CHECKING:
    from collections.abc import Sequence

    from .log import Record
    from .web import Web

SHARES = (0.1, 0.2, 0.3, 0.5, 1.0)
USUAL_NOTES = ("", "robots")


def report(records: Sequence[Record], web: Web | None = None, sessions: int = 0) -> str:
    """The crawl as text. With a web: coverage and quality; with the crawl's `sessions`: how busy they were."""
    requests = [each for each in records if each.kind == "request"]
    if not requests:
        return "no requests"
    seconds = max(analysis.span(requests)[1] - analysis.span(records)[0], 1e-9)
    lines = [
        f"requests     {len(requests):,} in {seconds:,.1f} s ({len(requests) / seconds:,.1f}/s), "
        f"{sum(each.size for each in requests) / 1e6:,.1f} MB",
        _pages_line(records, web),
        f"statuses     {_counts(Counter(each.status for each in requests))}",
        f"notes        {_counts(Counter(_notes(requests))) or 'none'}",
        *_connection_lines(records, requests),
        _gap_line(records),
    ]
    if sessions:
        lines.append(
            f"sessions     {analysis.busy_share(records, sessions, seconds):.0%} of {sessions} open on average"
        )
    if web is not None:
        curve = analysis.quality_over_time(records, web)
        points = (f"{analysis.value_at(curve, share * seconds + 1e-9):.3f} at {share:.0%}" for share in SHARES)
        lines.append(f"quality      {', '.join(points)} of the time")
    return "\n".join(lines)


def _pages_line(records: Sequence[Record], web: Web | None) -> str:
    """How many pages were fetched, missed and fetched again."""
    fetched = analysis.first_fetches(records)
    again = len(analysis.duplicates(records))
    if web is None:
        return f"pages        {len(fetched):,} fetched, {again:,} of them more than once"
    expected = set(web.expected)
    hit = len(expected.intersection(analysis.page_numbers(fetched, web)))
    return (
        f"pages        {hit:,} of {len(expected):,} expected, {len(fetched) - hit:,} others, {again:,} more than once"
    )


def _connection_lines(records: Sequence[Record], requests: Sequence[Record]) -> list[str]:
    """Servers and connections."""
    servers = {each.server for each in requests}
    opened = sum(each.kind == "open" for each in records)
    parallel = max(analysis.parallel_connections(records).values(), default=0)
    closers = Counter(each.note for each in records if each.kind == "close")
    return [
        f"servers      {len(servers):,}, at most {parallel} connections open to one of them",
        f"connections  {opened:,} opened, at most {analysis.max_open_connections(records):,} at once, "
        f"{len(requests) / max(1, opened):.1f} requests each",
        f"closed by    {_counts(closers) or 'none'}",
    ]


def _gap_line(records: Sequence[Record]) -> str:
    """The shortest rest that a server got."""
    found = analysis.gaps(records)
    if not found:
        return "smallest gap none"
    least = min(found, key=lambda gap: gap.seconds)
    return f"smallest gap {least.seconds:.6f} s, at {least.server}"


def _notes(requests: Sequence[Record]) -> list[str]:
    """All notes but the usual ones."""
    return [note for each in requests for note in each.note.split(",") if note not in USUAL_NOTES]


def _counts(counter: Counter[int] | Counter[str]) -> str:
    """'200: 1,234, 404: 5' in falling order."""
    return ", ".join(f"{key}: {count:,}" for key, count in counter.most_common())
