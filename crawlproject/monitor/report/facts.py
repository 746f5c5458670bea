"""The content of a report as numbers and sentences, without HTML."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING, Any

from crawlproject.monitor.failure_log import failures_by_kind
from crawlproject.monitor.quantities import counted, duration, quality, share_gathered, size
from crawlproject.monitor.series.samples import COUNTS, KINDS, is_number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crawlproject.monitor.series.samples import Sample, Series

#: Stat of a spider -> its title in the report.
SPIDER_TITLES = {
    "pages": "Pages",
    "items": "Items",
    "errors": "Errors",
    "empty": "Pages without items",
    "dropped": "Dropped",
    "seconds": "Seconds of connections",
    "finish_reason": "Ended",
}

#: Runs that are listed, the last ones.
MAX_RUNS = 20


@dataclass(frozen=True)
class Facts:
    """A crawl over all its runs."""

    #: Samples with counts over all runs, in order; ``elapsed`` is the time that the crawl ran.
    samples: Sequence[Sample]
    runs: int
    #: Of the last run; empty if it is missing.
    snapshot: Mapping[str, Any]
    #: Of the first run, and of the last sample; seconds since the epoch.
    began: float
    last: float
    #: The last sample of each run, with its counts, and when the run began.
    ends: Sequence[tuple[float, Sample]]
    #: Names and facts of each worker, if there are several.
    workers: Sequence[tuple[str, Facts]] = ()

    @classmethod
    def of(cls, series: Series, snapshot: Mapping[str, Any], workers: Sequence[tuple[str, Facts]] = ()) -> Facts:
        """Join the runs."""
        before = dict.fromkeys(COUNTS, 0.0)
        samples: list[Sample] = []
        for run in series.runs:
            joined = [{**each, **{name: each[name] + before[name] for name in COUNTS}} for each in run.samples]
            samples += joined
            if joined:
                before = {name: joined[-1][name] for name in COUNTS}
        ends = [(run.at, run.samples[-1]) for run in series.runs if run.samples]
        last = ends[-1][0] + ends[-1][1]["elapsed"] if ends else 0.0
        return cls(samples, len(series.runs), snapshot, series.runs[0].at if series.runs else 0.0, last, ends, workers)

    @property
    def scopes(self) -> tuple[str, str]:
        """Of what samples tell, and stats: all runs, and the last one; empty where both are the same."""
        has_runs = max(self.runs, *(facts.runs for _, facts in self.workers), 1) > 1
        if self.workers:
            return "all workers, all runs" if has_runs else "all workers", "last run of each worker" if has_runs else ""
        return ("all runs", "last run") if has_runs else ("", "")

    @property
    def latest_pages(self) -> float:
        """Of the last run, or of the last run of each worker."""
        return sum(facts.latest_pages for _, facts in self.workers) if self.workers else self.ends[-1][1]["pages"]

    @property
    def end(self) -> Sample:
        return self.samples[-1]

    @property
    def pages_per_second(self) -> float:
        return self.end["pages"] / max(1.0, self.end["elapsed"])

    @property
    def stats(self) -> Mapping[str, Any]:
        """The stats of the last run."""
        found: Mapping[str, Any] = self.snapshot.get("stats", {})
        return found

    def stat(self, name: str) -> float:
        """A numeric stat of the last run; 0 if it is absent."""
        value = self.stats.get(name)
        return value if is_number(value) else 0

    @property
    def has_topic(self) -> bool:
        """Whether the spider judged pages by a topic."""
        return self.end["relevant"] > 0 or "topic/pages" in self.stats

    def quality_share(self, sample: Sample) -> float | None:
        """Quality gathered by then, of all that is known in the end."""
        gathered, waiting = self.end["quality_gathered"], self.end["quality_queued"]
        known = share_gathered(gathered, waiting if waiting >= 0 else None)
        return min(1.0, known * sample["quality_gathered"] / gathered) if known and gathered else known

    def expected_share(self, sample: Sample) -> float | None:
        """The same of a breadth-first crawl at the same speed; None for a sample that is not of these."""
        return self._expected.get(sample["elapsed"])

    @cached_property
    def _expected(self) -> dict[float, float]:
        """By time.  Breadth-first takes pages whatever their quality: each is worth the mean of all known by then."""
        whole = self.end["quality_gathered"] + self.end["quality_queued"]
        shares: dict[float, float] = {}
        gathered = pages = 0.0
        for sample in self.samples:
            known = sample["quality_gathered"] + max(0.0, sample["quality_queued"])
            gathered += max(0.0, sample["pages"] - pages) * known / max(1.0, sample["pages"] + sample["queued"])
            pages = sample["pages"]
            shares[sample["elapsed"]] = min(1.0, gathered / whole) if whole > 0 else 0.0
        return shares

    def at(self, place: float, axis: str = "elapsed") -> Sample:
        """The last sample before a time, or a number of pages. O(log samples)."""
        after = bisect_right(self.samples, place, key=lambda sample: sample[axis])
        return self.samples[max(0, after - 1)]

    @cached_property
    def held(self) -> dict[str, float]:
        """What held the crawl back, one of ``KINDS`` -> share of the time, most first."""
        times: Counter[str] = Counter()
        kinds, before = list(KINDS), 0.0
        for sample in self.samples:
            number = int(sample["held_back"])
            kind = kinds[number] if 0 <= number < len(kinds) else ""
            times[kind] += max(0.0, sample["elapsed"] - before)  # type: ignore[assignment]
            before = sample["elapsed"]
        whole = sum(times.values())
        return {kind: time / whole for kind, time in times.most_common()} if whole else {}

    def most_held(self) -> str:
        """What held it back most often, in words, with its share of the time; empty if it is not known."""
        return next((f"{KINDS[kind]} ({share:.0%} of the time)" for kind, share in self.held.items()), "")

    def in_use(self) -> float:
        """Mean share of the allowed connections that were in use."""
        shares = [min(1.0, each["sessions"] / each["session_limit"]) for each in self.samples if each["session_limit"]]
        return sum(shares) / len(shares) if shares else 0.0

    def most_at(self, share: float) -> float | None:
        """Seconds after which this share of the quality known in the end was gathered."""
        return next((each["elapsed"] for each in self.samples if (self.quality_share(each) or 0) >= share), None)


#: 9999-12-31, the last day that can be written.
_MAX_TIME = 253_402_300_000.0


def written_time(seconds: float, form: str = "%Y-%m-%d %H:%M:%S") -> str:
    """A time since the epoch; one from a damaged file is moved to a day that can be written."""
    return datetime.fromtimestamp(min(max(0.0, seconds), _MAX_TIME), UTC).strftime(form)


def summary(facts: Facts) -> list[str]:
    end, (_, run) = facts.end, facts.scopes
    runs = "" if facts.runs == 1 else f" and ran {facts.runs} times"
    pages, urls = counted(round(end["pages"]), "page"), counted(round(end["seen"]), "URL")
    found = [
        f"The crawl began on {written_time(facts.began, '%Y-%m-%d %H:%M')} UTC{runs}.",
        f"In {duration(max(1.0, end['elapsed']))} it fetched {pages} ({facts.pages_per_second:,.1f} per second, "
        f"{size(end['bytes'])}) and found {urls} on {counted(round(end['servers/known']), 'server')}.",
    ]
    if run:
        found.append(f"Of these, {counted(round(facts.latest_pages), 'page')} in the {run}.")
    if facts.has_topic:
        share = end["relevant"] / max(1, end["pages"])
        found.append(f"Of {pages}, {end['relevant']:,.0f} are on the topic ({share:.1%}).")
    if share := facts.quality_share(end) or 0.0:
        most = facts.most_at(0.8)
        after = f"; 80% of it after {duration(most)}" if most is not None else ""
        early = facts.at(0.25 * end["elapsed"])
        found.append(
            f"It gathered {share:.0%} of the quality of all URLs known{after}. After a quarter of the time it had "
            f"{facts.quality_share(early) or 0:.0%}; breadth-first would have had about "
            f"{facts.expected_share(early) or 0:.0%} after as many pages."
        )
    if budget := facts.snapshot.get("budget"):
        found.append(f"Of its budget: {budget}.")
    if facts.held:
        found.append(
            f"On average {facts.in_use():.0%} of the allowed connections were in use; most often the limit was: "
            f"{facts.most_held()}."
        )
    if failures := failures_by_kind({name: facts.stat(name) for name in facts.stats}):
        kinds = [f"{kind} ({count:,.0f})" for kind, count in list(failures.items())[:3]]
        where = f" in the {run}" if run else ""
        found.append(f"Failed, refused or dropped{where}, most often: {', '.join(kinds)}.")
    if reason := facts.stats.get("finish_reason"):
        found.append(f"It ended with the reason “{reason}”; still queued: {left_words(end)}.")
    else:
        found.append(f"It is running, or was interrupted: its last sign of life was at {written_time(facts.last)} UTC.")
    return found


def left_words(end: Sample) -> str:
    """``177 URLs, 170 of them on servers that the operator has blocked``."""
    queued, blocked = round(end["queued"]), round(end["blocked"])
    which = "all" if blocked == queued else f"{blocked:,}"
    return counted(queued, "URL") + (f", {which} of them on servers that the operator has blocked" if blocked else "")


def counts_row(end: Sample) -> dict[str, str]:
    """Heading -> cell, of a run, a worker, or a crawl."""
    return {
        "Pages": f"{end['pages']:,.0f}",
        "Requests": f"{end['requests']:,.0f}",
        "Failed or refused": f"{end['failed']:,.0f}",
        "Received": size(end["bytes"]),
        "Lasted": duration(max(0.0, end["elapsed"])),
        "Pages per second": f"{end['pages'] / max(1.0, end['elapsed']):,.3g}",
    }


def runs_rows(facts: Facts) -> list[dict[str, str]]:
    """Heading -> cell of each of the last ``MAX_RUNS`` runs, and of all."""
    rows = [(written_time(at), end) for at, end in facts.ends[-MAX_RUNS:]]
    return [{"Run": name, **counts_row(end)} for name, end in (*rows, (f"all {facts.runs}", facts.end))]


def worker_row(facts: Facts) -> dict[str, str]:
    """Heading -> cell of the row of a worker, or of a crawl that is compared."""
    share = facts.quality_share(facts.end)
    return counts_row(facts.end) | {
        "Quality gathered": quality(facts.end["quality_gathered"]),
        "Of what is known": "–" if share is None else f"{share:.1%}",
        "URLs queued": f"{facts.end['queued']:,.0f}",
        "Connections in use": f"{facts.in_use():.0%}",
        "CPU": f"{sum(each['cpu'] for each in facts.samples) / len(facts.samples):.0%}",
        "Most often held back by": facts.most_held() or "–",
        "Ended": str(facts.stats.get("finish_reason") or f"last sign of life {written_time(facts.last)} UTC"),
    }


#: Shares of the time, of connections, of requests and of pages from which advice is given.
MOST_OF_TIME, FEW_IN_USE, MANY_FAILED, MANY_COPIES = 0.4, 0.5, 0.2, 0.3


def advice(facts: Facts) -> list[str]:
    held, in_use, stat = Counter(facts.held), facts.in_use(), facts.stat
    limit = f"{median(each['session_limit'] for each in facts.samples):.0f}"
    requests, compared = max(1.0, stat("downloader/request_count")), stat("duplicates/pages")
    copies = (stat("duplicates/exact") + stat("duplicates/near")) / max(100.0, compared)
    failed = max(stat(f"frontier/failures/{kind}") for kind in ("timeout", "dns", "refused")) / requests
    few = held["few"] + (0.0 if facts.end["queued"] else held["nothing"])
    found = {
        f"Of the {limit} connections allowed, {in_use:.0%} were in use on average, because servers rested: crawl more "
        "servers, or, if their owners agree, set a smaller FRONTIER_DELAY_FACTOR. More connections do not help.": (
            held["politeness"] + held["one"] >= MOST_OF_TIME and in_use <= FEW_IN_USE
        ),
        f"All {limit} connections were in use {held['connections']:.0%} of the time while servers were ready: a larger "
        "FRONTIER_MAX_SESSIONS makes the crawl faster, as long as the CPU allows.": held["connections"] >= MOST_OF_TIME,
        f"The process was busy {held['CPU']:.0%} of the time: use cheaper callbacks and fewer pipelines, or several "
        "processes (scrapy workers).": held["CPU"] >= MOST_OF_TIME,
        f"The event loop was late {held['loop']:.0%} of the time while the CPU was not busy: look for callbacks and "
        "pipelines that wait for files, databases or sleep, for a terminal that takes no output, and for other work on "
        "this machine.": held["loop"] >= MOST_OF_TIME / 2,
        "DNS look-ups held the crawl back: run a caching resolver on this machine.": held["DNS"] >= MOST_OF_TIME / 2,
        f"For {held['failures']:.0%} of the time the crawl only tried servers again that fail: with a smaller "
        "FRONTIER_MAX_FAILURES and FRONTIER_ROBOTS_MAX_FAILURES they are given up sooner.": (
            held["failures"] >= MOST_OF_TIME
        ),
        "Few servers had URLs: give more seeds, or loosen the filters for links.": few >= MOST_OF_TIME,
        f"{failed:.0%} of the requests time out, fail in DNS or are refused: check this machine's network and "
        "resolver.": failed >= MANY_FAILED,
        f"The process could not keep up {stat('monitor/throttled'):.0f} times and used fewer connections: a smaller "
        "FRONTIER_MAX_SESSIONS, or a higher FRONTIER_MONITOR_MAX_MEMORY if memory was the reason.": (
            stat("monitor/throttled") > 0
        ),
        f"{copies:.0%} of the pages are copies: exclude their paths, or drop the parameters that make them "
        "(FRONTIER_DROP_PARAMETERS).": copies >= MANY_COPIES,
    }
    return [words for words, applies in found.items() if applies] or ["Nothing stands out."]


def spider_rows(stats: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The table of a crawl by its stats ``spiders/NAME/...``, for the report. O(stats)."""
    found: dict[str, dict[str, Any]] = {}
    for stat, value in stats.items():
        if stat.startswith("spiders/") and stat.count("/") >= 2:
            name, _, what = stat.removeprefix("spiders/").rpartition("/")
            found.setdefault(name, {})[what] = value
    return [
        {"Spider": name, **{title: counts.get(column, "–") for column, title in SPIDER_TITLES.items()}}
        for name, counts in sorted(found.items())
    ]
