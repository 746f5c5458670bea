"""The content of a report as numbers and sentences, without HTML."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from statistics import median
from typing import TYPE_CHECKING, Any

from crawlproject.monitor.failure_log import failures_by_kind
from crawlproject.monitor.quantities import counted, exact_duration, quality, share_gathered, size
from crawlproject.monitor.series.samples import COUNTS, HELD_BACK, is_number, number_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from crawlproject.monitor.series.samples import Sample, Series

#: What held the crawl back, in words; by the first words of what the panel says (``HELD_BACK``).
REASONS = {
    "": "unknown",
    "connections": "all connections in use",
    "politeness": "politeness: servers rest",
    "CPU": "the process: its CPU is busy",
    "DNS": "DNS look-ups",
    "failures": "servers that fail are tried again",
    "few": "few servers have URLs",
    "one": "one server left",
    "nothing": "nothing queued",
    "the": "the end of the crawl, its store, or a process that could not keep up",
    "the crawl": "the crawl was ending",
    "the store": "the store could not be reached",
    "the process": "the process could not keep up",
    "the operator": "the operator had paused the crawl, or blocked all servers with URLs",
    "the network": "this machine's network or its name servers did not work",
    "the event": "the event loop was blocked, or the machine busy",
}

#: Stat of a spider, its title in the report, and what stands for none.
SPIDER_TITLES = (
    ("pages", "Pages", 0),
    ("items", "Items", 0),
    ("errors", "Errors", 0),
    ("empty", "Pages without items", 0),
    ("dropped", "Dropped", 0),
    ("seconds", "Seconds of connections", 0),
    ("finish_reason", "Ended", ""),
)

#: Runs that are listed, the last ones.
MAX_RUNS = 20

#: Longest words about the budget: they come from a file.
MAX_BUDGET = 300


@dataclass(frozen=True)
class Facts:
    """A crawl over all its runs."""

    #: Samples with counts over all runs, in order; ``elapsed`` is the time that the crawl ran.
    samples: Sequence[Sample]
    runs: int
    #: Of the last run; empty dicts if the snapshot is missing.
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
        with_samples = [run for run in series.runs if run.samples]
        last = with_samples[-1].at + with_samples[-1].samples[-1]["elapsed"] if with_samples else 0.0
        ends = [(run.at, run.samples[-1]) for run in with_samples]
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
    def stats(self) -> Mapping[str, Any]:
        """The stats of the last run."""
        found = self.snapshot.get("stats")
        return found if isinstance(found, dict) else {}

    @property
    def failures(self) -> dict[str, int]:
        """Failures of the last run, by kind."""
        return failures_by_kind({name: count for name, count in self.stats.items() if isinstance(count, int)})

    def stat(self, name: str) -> float:
        """A numeric stat of the last run; 0 if it is absent."""
        return number_of(self.stats.get(name))

    @property
    def as_of(self) -> str:
        """``, as of`` the time of the snapshot; empty if that is the end of the crawl, or not known."""
        at = self.snapshot.get("at")
        return f", as of {written_time(at)} UTC" if is_number(at) and "finish_reason" not in self.stats else ""

    @property
    def has_topic(self) -> bool:
        """Whether the spider judged pages by a topic."""
        return self.end["relevant"] > 0 or "topic/pages" in self.stats

    def harvest(self) -> str:
        """How many of the pages are relevant, and when half of them were there."""
        relevant, pages = self.end["relevant"], self.end["pages"]
        found = (
            f"Of {counted(round(pages), 'page')}, {relevant:,.0f} are on the topic ({relevant / max(1, pages):.1%})."
        )
        if not relevant:
            return found
        half = next(each["elapsed"] for each in self.samples if each["relevant"] >= relevant / 2)
        return f"{found} Half of them were there after {exact_duration(half)}."

    def quality_share(self, sample: Sample) -> float | None:
        """Quality gathered by then, of all that is known in the end."""
        waiting = self.end["waiting"] if self.end["waiting"] >= 0 else None
        known = share_gathered(self.end["gathered"], waiting)
        gathered = self.end["gathered"]
        return min(1.0, known * sample["gathered"] / gathered) if known and gathered else known

    def expected_share(self, sample: Sample) -> float | None:
        """The same of a breadth-first crawl at the same speed; None for a sample that is not of these."""
        return self._expected.get(sample["elapsed"])

    @cached_property
    def _expected(self) -> dict[float, float]:
        """By time.  Breadth-first takes pages whatever their quality: each is worth the mean of all known by then."""
        whole = self.end["gathered"] + self.end["waiting"]
        shares: dict[float, float] = {}
        gathered = pages = 0.0
        for sample in self.samples:
            known = sample["gathered"] + max(0.0, sample["waiting"])
            gathered += max(0.0, sample["pages"] - pages) * known / max(1.0, sample["pages"] + sample["queued"])
            pages = sample["pages"]
            shares[sample["elapsed"]] = min(1.0, gathered / whole) if whole > 0 else 0.0
        return shares

    def at(self, share: float) -> Sample:
        """The first sample after this share of the time."""
        return next(each for each in self.samples if each["elapsed"] >= share * self.end["elapsed"])

    def held_back(self) -> dict[str, float]:
        """Reason in words -> share of the time, most first."""
        times: Counter[str] = Counter()
        before = 0.0
        for sample in self.samples:
            number = int(sample["held_back"])
            word = HELD_BACK[number] if 0 <= number < len(HELD_BACK) else ""
            times[word] += max(0.0, sample["elapsed"] - before)  # type: ignore[assignment]
            before = sample["elapsed"]
        whole = sum(times.values())
        return {REASONS[word]: time / whole for word, time in times.most_common()} if whole else {}

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
    end, stats = facts.end, facts.stats
    seconds = max(1.0, end["elapsed"])
    began = written_time(facts.began, "%Y-%m-%d %H:%M")
    runs = "" if facts.runs == 1 else f" and ran {facts.runs} times"
    pages, urls = counted(round(end["pages"]), "page"), counted(round(end["seen"]), "URL")
    found = [
        f"The crawl began on {began} UTC{runs}.",
        f"In {exact_duration(seconds)} it fetched {pages} ({end['pages'] / seconds:,.1f} per second, "
        f"{size(end['bytes'])}) and found {urls} on {counted(round(end['servers']), 'server')}.",
    ]
    run = facts.scopes[1]
    if run:
        found.append(f"Of these, {counted(round(facts.latest_pages), 'page')} in the {run}.")
    if facts.has_topic:
        found.append(facts.harvest())
    share = facts.quality_share(end)
    if share is not None:
        most = facts.most_at(0.8)
        after = f"; 80% of it after {exact_duration(most)}" if most is not None and share >= 0.8 else ""
        found.append(f"It gathered {share:.0%} of the quality of all URLs known{after}.")
    if share:
        early = facts.at(0.25)
        found.append(
            f"After a quarter of the time it had {facts.quality_share(early) or 0:.0%}; breadth-first would have had "
            f"about {facts.expected_share(early) or 0:.0%} after as many pages."
        )
    if budget := str(facts.snapshot.get("budget", ""))[:MAX_BUDGET]:
        found.append(f"Of its budget: {budget}.")
    held = next(iter(facts.held_back().items()), None)
    if held is not None:
        found.append(
            f"On average {facts.in_use():.0%} of the allowed connections were in use; most often ({held[1]:.0%} of "
            f"the time) the limit was: {held[0]}."
        )
    if facts.failures:  # no sum: one request may count as several kinds, and what is dropped is no request
        kinds = [f"{kind} ({count:,})" for kind, count in list(facts.failures.items())[:3]]
        where = f" in the {run}" if run else ""
        found.append(f"Failed, refused or dropped{where}, most often: {', '.join(kinds)}.")
    reason = stats.get("finish_reason")
    last = written_time(facts.last)
    if reason:
        found.append(f"It ended with the reason “{reason}”; still queued: {left_words(end)}.")
    else:
        found.append(f"It is running, or was interrupted: its last sign of life was at {last} UTC.")
    return found


def left_words(end: Sample) -> str:
    """``177 URLs, 170 of them on servers that the operator has blocked``."""
    queued, blocked = round(end["queued"]), round(end["blocked"])
    which = "all" if blocked == queued else f"{blocked:,}"
    return counted(queued, "URL") + (f", {which} of them on servers that the operator has blocked" if blocked else "")


def runs_rows(facts: Facts) -> list[dict[str, str]]:
    """Heading -> cell of each of the last ``MAX_RUNS`` runs, and of all."""
    rows = [(written_time(at, "%Y-%m-%d %H:%M:%S"), end) for at, end in facts.ends[-MAX_RUNS:]]
    return [
        {
            "Run": name,
            "Lasted": exact_duration(max(0.0, end["elapsed"])),
            "Pages": f"{end['pages']:,.0f}",
            "Requests": f"{end['requests']:,.0f}",
            "Failed or refused": f"{end['failures']:,.0f}",
            "Received": size(end["bytes"]),
        }
        for name, end in (*rows, (f"all {facts.runs}", facts.end))
    ]


def worker_row(facts: Facts) -> dict[str, str]:
    """Heading -> cell of the row of a worker, in the order of the table."""
    end, seconds = facts.end, max(1.0, facts.end["elapsed"])
    held = next(iter(facts.held_back().items()), None)
    last = written_time(facts.last)
    return {
        "Pages": f"{end['pages']:,.0f}",
        "Pages per second": f"{end['pages'] / seconds:,.1f}",
        "Received": size(end["bytes"]),
        "Requests": f"{end['requests']:,.0f}",
        "Failed or refused": f"{end['failures']:,.0f}",
        "Quality gathered": quality(end["gathered"]),
        "URLs queued": f"{end['queued']:,.0f}",
        "Connections in use": f"{facts.in_use():.0%}",
        "CPU": f"{sum(each['cpu'] for each in facts.samples) / len(facts.samples):.0%}",
        "Most often held back by": f"{held[0]} ({held[1]:.0%})" if held is not None else "",
        "Ended": str(facts.stats.get("finish_reason") or f"last sign of life {last} UTC"),
    }


#: Shares of the time, of connections, of requests from which advice is given.
MOST_OF_TIME, FEW_IN_USE, MANY_FAILED, MANY_COPIES = 0.4, 0.5, 0.2, 0.3

#: Word of ``HELD_BACK``, share of the time from which advice is given, the advice.
HELD_ADVICE = (
    (
        "connections",
        MOST_OF_TIME,
        "All {limit:.0f} connections were in use {share:.0%} of the time while servers were ready: a larger "
        "FRONTIER_MAX_SESSIONS makes the crawl faster, as long as the CPU allows.",
    ),
    (
        "CPU",
        MOST_OF_TIME,
        "The process was busy {share:.0%} of the time: use cheaper callbacks and fewer pipelines, or several processes "
        "(scrapy workers).",
    ),
    (
        "the event",
        MOST_OF_TIME / 2,
        "The event loop was late {share:.0%} of the time while the CPU was not busy: look for callbacks and pipelines "
        "that wait for files, databases or sleep, for a terminal that takes no output, and for other work on this "
        "machine.",
    ),
    ("DNS", MOST_OF_TIME / 2, "DNS look-ups held the crawl back: run a caching resolver on this machine."),
    (
        "failures",
        MOST_OF_TIME,
        "For {share:.0%} of the time the crawl only tried servers again that fail: with a smaller "
        "FRONTIER_MAX_FAILURES and FRONTIER_ROBOTS_MAX_FAILURES they are given up sooner.",
    ),
)


def advice(facts: Facts) -> list[str]:
    found = []
    held, in_use, limit = facts.held_back(), facts.in_use(), median(each["session_limit"] for each in facts.samples)
    polite = held.get(REASONS["politeness"], 0.0) + held.get(REASONS["one"], 0.0)
    if polite >= MOST_OF_TIME and in_use <= FEW_IN_USE:
        found.append(
            f"Of the {limit:.0f} connections allowed, {in_use:.0%} were in use on average, because servers rested: "
            "crawl more servers, or, if their owners agree, set a smaller FRONTIER_DELAY_FACTOR. More connections do "
            "not help."
        )
    for word, least, words in HELD_ADVICE:
        share = held.get(REASONS[word], 0.0)
        if share >= least:
            found.append(words.format(limit=limit, share=share))
    idle = 0.0 if facts.end["queued"] else held.get(REASONS["nothing"], 0.0)
    if held.get(REASONS["few"], 0.0) + idle >= MOST_OF_TIME:
        found.append("Few servers had URLs: give more seeds, or loosen the filters for links.")
    if facts.end["blocked"]:
        found.append(f"Still queued: {left_words(facts.end)}. Unblock them in the console to fetch them.")
    requests = max(1.0, facts.stat("downloader/request_count"))
    for stat, words in (("timeout", "time out"), ("dns", "fail in DNS"), ("refused", "are refused")):
        share = facts.stat(f"frontier/failures/{stat}") / requests
        if share >= MANY_FAILED:
            found.append(f"{share:.0%} of the requests {words}: check this machine's network and resolver.")
    if facts.stat("monitor/throttled"):
        found.append(
            f"The process could not keep up {facts.stat('monitor/throttled'):.0f} times and used fewer connections: "
            "a smaller FRONTIER_MAX_SESSIONS, or a higher FRONTIER_MONITOR_MAX_MEMORY if memory was the reason."
        )
    compared = facts.stat("duplicates/pages")
    copies = facts.stat("duplicates/exact") + facts.stat("duplicates/near")
    if compared >= 100 and copies / compared >= MANY_COPIES:
        found.append(
            f"{copies / compared:.0%} of the pages are copies: exclude their paths, or drop the parameters that make "
            "them (FRONTIER_DROP_PARAMETERS)."
        )
    if facts.snapshot.get("too_early"):
        found.append(
            f"{facts.snapshot['too_early']} requests were sent before their server's wait was over: look for requests "
            "that bypass the scheduler."
        )
    return found or ["Nothing stands out."]


def spider_rows(stats: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The table of a crawl by its stats ``spiders/NAME/...``, for the report. O(stats)."""
    found: dict[str, dict[str, Any]] = {}
    for stat, value in stats.items():
        if stat.startswith("spiders/") and stat.count("/") >= 2:
            name, _, what = stat.removeprefix("spiders/").rpartition("/")
            found.setdefault(name, {})[what] = value
    return [
        {"Spider": name, **{title: counts.get(column, missing) for column, title, missing in SPIDER_TITLES}}
        for name, counts in sorted(found.items())
    ]
