"""A crawl's figures in words, for the panel and for lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from crawlproject.monitor.quantities import duration, size

if TYPE_CHECKING:
    from collections.abc import Iterable

    from crawlproject.monitor.figures import Figures
    from crawlproject.monitor.forecast import Forecast, Range

#: Kinds of failures named in the panel.
MAX_KINDS = 6


class Topic(NamedTuple):
    """Some lines of the panel: a label, and texts that may stand in one line or below each other."""

    label: str
    parts: tuple[str, ...]


def topics(figures: Figures) -> list[Topic]:
    """What the panel tells, the most important first in each topic."""
    servers = figures.servers
    found = [
        Topic(
            "Pages",
            (
                f"{figures.pages:,}",
                f"{figures.pages_per_second:,.1f}/s now, {figures.mean_pages_per_second:,.1f}/s mean",
                f"{size(figures.bytes_per_second)}/s",
                f"for {duration(figures.elapsed)}",
            ),
        ),
        Topic(
            "Connections",
            (
                f"{figures.sessions} of {figures.session_limit}",
                f"servers: {servers.ready:,} ready, {servers.resting + servers.waiting:,} resting, "
                f"{servers.leased:,} leased, {servers.given_up:,} given up",
                f"of {servers.known:,}",
            ),
        ),
        Topic("URLs", (f"{figures.queued:,} queued", f"{figures.seen:,} seen", *quality_words(figures.forecast))),
    ]
    if figures.failures:
        kinds = list(figures.failures.items())[:MAX_KINDS]
        found.append(Topic("Failures", tuple(f"{kind}: {count:,}" for kind, count in kinds)))
    if figures.held_back:
        found.append(Topic("Held back by", (figures.held_back,)))
    found.append(Topic("End", (end_words(figures.forecast),)))
    return [Topic(label, tuple(map(printable, parts))) for label, parts in found]


def end_words(forecast: Forecast) -> str:
    """``in about 25 min (18 min to 40 min)``, or why that is not known."""
    if forecast.end is None:
        return f"not known: {forecast.why_not}"
    return range_words(forecast.end)


def quality_words(forecast: Forecast) -> Iterable[str]:
    """The share of the quality gathered, and when most of it will be."""
    if forecast.share is None:
        return
    yield f"quality: {forecast.share:.0%} of what is known"
    most = forecast.most_quality
    if most is not None:
        yield f"80% of all {range_words(most)}" if most.likely else "80% of all is probably gathered"
    elif forecast.most_within is not None:
        yield f"80% of all within {duration(forecast.most_within)}"


def range_words(found: Range) -> str:
    """``in about 25 min (18 min to 40 min)``; without the range if it is narrow."""
    low, likely, high = map(duration, found)
    return f"in about {likely}" if low == high else f"in about {likely} ({low} to {high})"


def printable(text: str, most: int = 200) -> str:
    """Without control characters, which would move the cursor; at most ``most`` characters."""
    return "".join(each if each.isprintable() else "�" for each in text[:most])


def lines(figures: Figures, width: int) -> list[tuple[str, str]]:
    """(Label, text) of each line, at most ``width`` columns with a blank between: as many parts in a line as fit."""
    from rich.cells import cell_len, set_cell_size  # a character may be two columns wide, or none

    found = []
    for label, parts in topics(figures):
        line = ""
        start = label
        room = max(1, width - len(label) - 1)
        for part in parts:
            joined = f"{line}, {part}" if line else part
            if line and cell_len(joined) > room:
                found.append((start, set_cell_size(line, min(room, cell_len(line)))))
                start, line = " " * len(label), part
            else:
                line = joined
        found.append((start, line if cell_len(line) <= room else f"{set_cell_size(line, room - 1).rstrip()}…"))
    return found


def one_line(figures: Figures) -> str:
    """All of it, for a log."""
    return "; ".join(f"{label.lower()} {', '.join(parts)}" for label, parts in topics(figures))
