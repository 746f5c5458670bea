"""A crawl's figures in words, for the panel and for lines of text."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from crawlproject.monitor.quantities import budget_words, duration, size

if TYPE_CHECKING:
    from crawlproject.monitor.figures import Figures
    from crawlproject.monitor.forecast import Forecast

#: Kinds of failures named in the panel.
MAX_KINDS = 6

#: Lines of a topic at most.
MAX_LINES = 5


class Topic(NamedTuple):
    """Some lines of the panel: a label, and texts that may stand in one line or below each other."""

    label: str
    parts: tuple[str, ...]


def topics(figures: Figures) -> list[Topic]:
    """The parts of each line of the panel, the most important first."""
    servers = figures.servers
    waiting = f"{servers.waiting:,} waiting, " if servers.waiting else ""  # only with politeness groups
    found = [
        Topic(
            "Pages",
            (
                f"{figures.pages:,} {'by this worker' if figures.is_worker else 'in this run'}",
                f"{figures.pages_per_second:,.1f}/s now, {figures.mean_pages_per_second:,.1f}/s mean",
                f"{size(figures.bytes_per_second)}/s",
                f"for {duration(figures.elapsed)}",
            ),
        ),
        Topic(
            "Connections",
            (
                f"{figures.sessions} of {figures.session_limit}",
                f"{servers.known:,} servers: {servers.ready:,} ready, {servers.resting:,} resting, {waiting}"
                f"{servers.leased:,} in use, {servers.given_up:,} given up",
            ),
        ),
        Topic("URLs", (queued_words(figures), f"{figures.seen:,} seen")),
    ]
    if figures.quality_share is not None:
        found.append(Topic("Quality", (f"{figures.quality_share:.0%} of what is known",)))
    if figures.failures:
        kinds = list(figures.failures.items())[:MAX_KINDS]
        found.append(Topic("Failures", tuple(f"{kind}: {count:,}" for kind, count in kinds)))
    if figures.spiders:
        some = list(figures.spiders.items())[:MAX_KINDS]
        found.append(Topic("Spiders", tuple(f"{name}: {counts}" for name, counts in some)))
    if figures.held_back:
        found.append(Topic("Held back by", (figures.held_back,)))
    if figures.budget is not None:
        found.append(Topic("Budget", budget_words(figures.budget)))
    if end := end_words(figures.forecast):
        found.append(Topic("Limit" if figures.forecast.is_limit else "Queue", (end,)))
    return [Topic(label, tuple(map(printable, parts))) for label, parts in found]


def end_words(forecast: Forecast) -> str:
    """``fetched in about 25 min``, or why that is not known; empty while the crawl is ending."""
    if forecast.end is None:
        return forecast.why_not and f"time not known: {forecast.why_not}"
    return f"{'reached' if forecast.is_limit else 'fetched'} in about {duration(forecast.end)}"


def queued_words(figures: Figures) -> str:
    """``177 queued``, how many of these the operator has blocked, and how many come last (docs/traps.md)."""
    notes = [f"{figures.blocked:,} blocked by the operator"] if figures.blocked else []
    notes += [f"{figures.doubted:,} come last: nothing new on pages like theirs"] if figures.doubted else []
    return f"{figures.queued:,} queued" + (f" ({', '.join(notes)})" if notes else "")


def printable(text: str) -> str:
    """Without control characters, which would move the cursor; at most 200 characters."""
    return "".join(each if each.isprintable() else "�" for each in text[:200])


def lines(figures: Figures, width: int) -> list[tuple[str, str]]:
    """(Label, text) of each line, at most ``width`` columns with a blank between, broken between words.

    Only a word that is longer than a line is cut; a topic takes at most ``MAX_LINES``.
    """
    from rich.console import Console
    from rich.text import Text

    console, found = Console(width=max(1, width)), []
    for label, parts in topics(figures):
        room = max(1, width - len(label) - 1)
        rows = list(Text(", ".join(parts)).wrap(console, room, overflow="ellipsis"))
        if len(rows) > MAX_LINES:
            rows[MAX_LINES - 1].append(" …").truncate(room, overflow="ellipsis")
        for number, row in enumerate(rows[:MAX_LINES]):
            found.append((" " * len(label) if number else label, row.plain.rstrip()))
    return found


def one_line(figures: Figures) -> str:
    return "; ".join(f"{label.lower()} {', '.join(parts)}" for label, parts in topics(figures))
