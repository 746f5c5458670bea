"""The charts of a report: data for uPlot, and the same in words and as a table for those who cannot see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crawlproject.frontier.observed_times import quantile
from crawlproject.monitor.quantities import duration, exact_duration, size

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from crawlproject.monitor.report.facts import Facts
    from crawlproject.monitor.series.samples import Sample

#: Points of a curve, and rows of its table.
POINTS, ROWS = 400, 12


@dataclass(frozen=True)
class Chart:
    """``kind``: lines over time, or bars. ``columns``: names and values; the first are the x values."""

    id: str
    title: str
    words: str
    names: tuple[str, ...]
    columns: tuple[list[float | None], ...]
    #: How a value is written: ``percent``, ``number``, ``bytes``.
    unit: str = "number"
    kind: str = "lines"
    #: Of bars.
    labels: tuple[str, ...] = ()

    def data(self) -> dict[str, Any]:
        """For the script of the page."""
        return {
            "id": self.id,
            "names": self.names,
            "columns": self.columns,
            "unit": self.unit,
            "kind": self.kind,
            "labels": self.labels,
        }

    def rows(self) -> list[list[str]]:
        """Some of the values as text, for a table."""
        count = len(self.columns[0])
        chosen = (
            range(count) if self.kind == "bars" else sorted({round(i * (count - 1) / ROWS) for i in range(ROWS + 1)})
        )
        first = self.labels if self.kind == "bars" else [exact_duration(each or 0.0) for each in self.columns[0]]
        return [[first[i], *(written(column[i], self.unit) for column in self.columns[1:])] for i in chosen if count]


def written(value: float | None, unit: str) -> str:
    """A value with its unit; a dash if there is none."""
    if value is None:
        return "–"
    if unit == "percent":
        return f"{value:.0%}"
    if unit == "bytes":
        return size(value)
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 100 else f"{value:,.2f}"


def charts(facts: Facts) -> list[Chart]:
    """All charts that the samples allow."""
    samples = _thinned(facts.samples)
    found = [_quality(facts, samples), _harvest(facts, samples), *_progress(facts, samples), *_state(facts, samples)]
    found += [_distribution(facts, key, title) for key, title in DISTRIBUTIONS.items()]
    return [chart for chart in found if chart is not None]


#: Kind of times in the snapshot -> title of its chart.
DISTRIBUTIONS = {"connect": "Times to connect", "response": "Response times", "waits": "Polite waits"}


def _lines(
    samples: Sequence[Sample],
    name: tuple[str, str],
    words: str,
    curves: Mapping[str, str | Callable[[Sample], float | None] | list[float | None]],
    unit: str = "number",
) -> Chart:
    """Curves over time; ``name``: id and title. A curve is a column, a function of a sample, or a list of values."""

    def values(curve: str | Callable[[Sample], float | None]) -> list[float | None]:
        return [each[curve] if isinstance(curve, str) else curve(each) for each in samples]

    columns = [curve if isinstance(curve, list) else values(curve) for curve in curves.values()]
    times: list[float | None] = [each["elapsed"] for each in samples]
    return Chart(*name, words, ("time", *curves), (times, *columns), unit)


def _quality(facts: Facts, samples: Sequence[Sample]) -> Chart | None:
    ours, theirs = facts.quality_share(facts.end), facts.expected_share(facts.end) or 0.0
    if not ours:
        return None
    half = facts.most_at(ours / 2)
    words = (
        f"Share of the quality of all URLs known at the end. This crawl has {ours:.0%}, breadth-first is expected to "
        f"have {theirs:.0%} after as many pages."
    )
    if half is not None:
        words += f" Half of ours was there after {exact_duration(half)}."
    curves = {"this crawl": facts.quality_share, "breadth-first, expected": facts.expected_share}
    return _lines(samples, ("quality", "Quality gathered"), words, curves, "percent")


def _harvest(facts: Facts, samples: Sequence[Sample]) -> Chart | None:
    """Pages on the topic, of a crawl by the spider ``topic``."""
    if not facts.has_topic:
        return None
    half = next((each["elapsed"] for each in facts.samples if each["relevant"] >= facts.end["relevant"] / 2), 0.0)
    words = f"{facts.harvest()}."
    if facts.end["relevant"]:
        words += f" Half of them were there after {exact_duration(half)}."
    return _lines(samples, ("relevant", "Pages on the topic"), words, {"on the topic": "relevant"})


def _progress(facts: Facts, samples: Sequence[Sample]) -> list[Chart]:
    """Pages, and pages per second."""
    rates, received = _rates(samples, "pages"), _rates(samples, "bytes")
    fastest, most = (max((each or 0.0 for each in found), default=0.0) for found in (rates, received))
    return [
        _lines(
            samples,
            ("pages", "Pages fetched"),
            f"{facts.end['pages']:,.0f} pages in {exact_duration(facts.end['elapsed'])}.",
            {"pages": "pages"},
        ),
        _lines(
            samples,
            ("speed", "Speed"),
            f"Pages per second; at most {fastest:,.1f} (at most {size(most)} per second).",
            {"pages per second": rates},
        ),
    ]


def _state(facts: Facts, samples: Sequence[Sample]) -> list[Chart]:
    """Connections, queue, servers, process."""
    end = facts.end
    return [
        _lines(
            samples,
            ("connections", "Connections in use"),
            f"Of the allowed connections {facts.in_use():.0%} were in use on average.",
            {"in use": "sessions", "allowed": "session_limit", "servers ready": "ready"},
        ),
        _lines(
            samples,
            ("queue", "URLs queued and seen"),
            f"{end['queued']:,.0f} URLs are queued in the end, {end['seen']:,.0f} were seen.",
            {"queued": "queued", "seen": "seen"},
        ),
        _lines(
            samples,
            ("known", "Servers"),
            f"{end['servers']:,.0f} servers are known in the end, {end['given_up']:,.0f} were given up.",
            {"known": "servers", "resting or waiting": "resting", "given up": "given_up"},
        ),
        _lines(
            samples,
            ("process", "CPU of the process"),
            f"At most {max(each['cpu'] for each in samples):.0%} of one CPU; memory at most "
            f"{size(max(each['memory'] for each in samples))}.",
            {"CPU": "cpu"},
            "percent",
        ),
    ]


def _distribution(facts: Facts, key: str, title: str) -> Chart | None:
    bounds, counts = facts.snapshot.get("bounds"), facts.snapshot.get(key)
    if not isinstance(bounds, list) or not isinstance(counts, list) or len(counts) != len(bounds) + 1:
        return None
    if not all(isinstance(each, (int, float)) for each in (*bounds, *counts)) or sum(counts) <= 0:
        return None
    used = [place for place, count in enumerate(counts) if count]
    first, last = used[0], used[-1]
    labels = [f"≤ {_time(bound)}" for bound in bounds] + [f"> {_time(bounds[-1])}"]
    quantiles = ", ".join(
        f"{name} {_time(time)}"
        for name, share in (("median", 0.5), ("90%", 0.9), ("99%", 0.99))
        if (time := quantile(counts, share)) is not None
    )
    what = {"waits": "waits between two requests to a server"}.get(key, "requests")
    shown = range(first, last + 1)
    return Chart(
        key,
        title,
        f"Of {sum(counts):,} {what} of the last run: {quantiles}.",
        ("time", what.partition(" ")[0]),
        ([float(place) for place in range(len(shown))], [float(counts[place]) for place in shown]),
        kind="bars",
        labels=tuple(labels[place] for place in shown),
    )


def _time(seconds: float) -> str:
    """``1.3 ms``, ``240 ms``, ``1.8 s``."""
    if seconds < 1:
        return f"{seconds * 1000:.3g} ms"
    return f"{seconds:.2g} s" if seconds < 10 else duration(seconds)


def _thinned(samples: Sequence[Sample]) -> list[Sample]:
    count = len(samples)
    if count <= POINTS:
        return list(samples)
    return [samples[round(i * (count - 1) / (POINTS - 1))] for i in range(POINTS)]


def _rates(samples: Sequence[Sample], name: str) -> list[float | None]:
    """Increase per second before each sample."""
    rates: list[float | None] = []
    before: Sample = dict.fromkeys(("elapsed", name), 0.0)
    for sample in samples:
        seconds = sample["elapsed"] - before["elapsed"]
        rates.append(round(max(0.0, sample[name] - before[name]) / seconds, 3) if seconds > 0 else None)
        before = sample
    return rates
