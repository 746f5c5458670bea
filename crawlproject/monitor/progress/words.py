"""A crawl's figures in words, for the panel."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlproject.monitor.quantities import budget_words, duration, size

if TYPE_CHECKING:
    from crawlproject.monitor.figures import Figures
    from crawlproject.monitor.forecast import Forecast

#: Kinds of failures named in the panel; lines of a topic at most.
MAX_KINDS, MAX_LINES = 6, 5


def topics(figures: Figures) -> dict[str, tuple[str, ...]]:
    """Label of each line of the panel -> texts that may stand in one line or below each other; most important first."""
    servers = figures.servers
    states = [f"{servers[name]:,} {name}" for name in ("ready", "resting")]
    states += [f"{servers['waiting']:,} waiting"] if servers["waiting"] else []  # only with politeness groups
    states += [f"{servers['leased']:,} in use", f"{servers['given_up']:,} given up"]
    rates = f"{figures.pages_per_second:,.1f}/s now, {figures.mean_pages_per_second:,.1f}/s mean"
    share, end = figures.quality_share, end_words(figures.forecast)
    found = {
        "Pages": (
            f"{figures.pages:,} {'by this worker' if figures.is_worker else 'in this run'}",
            rates,
            f"{size(figures.bytes_per_second)}/s",
            f"for {duration(figures.elapsed)}",
        ),
        "Connections": (
            f"{figures.sessions} of {figures.session_limit}",
            f"{servers['known']:,} servers: {', '.join(states)}",
        ),
        "URLs": (queued_words(figures), f"{figures.seen:,} seen"),
        "Quality": () if share is None else (f"{share:.0%} of what is known",),
        "Failures": tuple(f"{kind}: {count:,}" for kind, count in list(figures.failures.items())[:MAX_KINDS]),
        "Spiders": tuple(f"{name}: {counts}" for name, counts in list(figures.spiders.items())[:MAX_KINDS]),
        "Held back by": (figures.held_back,) if figures.held_back else (),
        "Budget": () if figures.budget is None else budget_words(figures.budget),
        "Limit" if figures.forecast.limit else "Queue": (end,) if end else (),
    }
    return {label: tuple(map(printable, parts)) for label, parts in found.items() if parts}


def end_words(forecast: Forecast) -> str:
    """``fetched in about 25 min``, or why that is not known; empty while the crawl is ending."""
    if forecast.end is None:
        return forecast.why_not and f"time not known: {forecast.why_not}"
    return f"{'reached' if forecast.limit else 'fetched'} in about {duration(forecast.end)}"


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
    for label, parts in topics(figures).items():
        room = max(1, width - len(label) - 1)
        rows = list(Text(", ".join(parts)).wrap(console, room, overflow="ellipsis"))
        if len(rows) > MAX_LINES:
            rows[MAX_LINES - 1].append(" …").truncate(room, overflow="ellipsis")
        for number, row in enumerate(rows[:MAX_LINES]):
            found.append((" " * len(label) if number else label, row.plain.rstrip()))
    return found
