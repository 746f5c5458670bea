"""Data that end in empty pages without end, gaps, sparse events, and "not found" that is answered with 200."""

from __future__ import annotations

from testbed.data_sites.noise import captcha, everything, quotation, visitors
from testbed.data_sites.registry import data
from testbed.data_sites.site import key, link


def _gaps(count: int, *spans: tuple[int, int]) -> frozenset[int]:
    return frozenset(day for first, length in spans for day in range(first, min(first + length, count)))


def _dead(n: int) -> str:
    """A link that leads nowhere, on each tenth page."""
    return link(f"/old/{key(5, 'dead', n)}.html", "Older version") if n % 10 == 3 else ""


_RAIN = "Rain on [date] :: <table>{8*<tr><td>[i]<td>[0.0-4.9]}</table>"
_EVENT = "Events on [date] :: <p>[time] [event/30], [time] [event/30]"
_BOTH = {"empty_before": True, "empty_after": True}

# A table: a kind takes few lines.
# fmt: off
data("endless-after", "rain", _RAIN, "/rain/{day:%Y/%m/%d}/", 300, empty_after=True)
data("endless-before", "rain", _RAIN, "/rain/{day:%Y-%m-%d}.html", 300, empty_before=True, entry=0)
data("endless-both", "rain, met in its middle", _RAIN, "/rain?d={day:%Y%m%d}", 400, entry=200, **_BOTH)
data(
    "endless-with-captcha", "rotas of few names", "Rota :: <p>[7 doctor/14]", "/rota/{day:%Y}/{day:%m}/{day:%d}", 300,
    entry=150, noise=captcha, **_BOTH)
data(
    "endless-with-quotation", "times of few films", "Films today :: {4*<p>[time] [film/15]}",
    "/films?day={day:%Y-%m-%d}", 250, empty_after=True, noise=quotation, entry=0, empty="Nothing today.")
data(
    "endless-tables", "two-digit numbers, where empty pages have a table too",
    "Report :: <table>{4*<tr><td>no. [i]<td>[0-99]}</table>", "/report/{day:%Y%m%d}", 300, empty_after=True, entry=0,
    empty="<table><tr><td>no. 0<td>-<tr><td>no. 1<td>-<tr><td>no. 2<td>-<tr><td>no. 3<td>-</table>")
data(
    "no-such-record", "three numbers; next leads on", "Record :: [0-99] kg, [0-99] cm, [0-999] cm",
    "/record.php?id={n}", 300, empty_after=True, empty="No such record.", entry=0)
data(
    "no-such-entry", "digits", "Entry :: <pre>{4*[10-99] [10-99]\n}</pre>", "/entry/{n}", 300, empty_after=True,
    noise=visitors, empty="Entry does not exist.", lists="/entries/page/{}")
data(
    "broken-gauge", "rain, twice none for 60 days", _RAIN, "/gauge/{day:%Y/%m/%d}", 450,
    gaps=_gaps(450, (120, 60), (300, 60)))
data(
    "weekends", "one price, none at weekends", "[date] :: <p>[90.00-99.99]", "/close/{day:%Y-%m-%d}", 400,
    gaps=frozenset(day for day in range(400) if day % 7 in (0, 1)))
data(
    "sparse-events", "events in one month of six", _EVENT, "/events/{day:%Y/%m/%d}", 1200, noise=quotation,
    empty="No events.", gaps=frozenset(day for day in range(1200) if day // 30 % 6))
data(
    "long-gap", "events around 200 empty days, both ends endless", _EVENT, "/agenda?day={day:%Y-%m-%d}", 500, entry=40,
    gaps=_gaps(500, (150, 200)), empty="No events.", **_BOTH)
data("missing-text", "small numbers", "Tab :: <p>{9*[0-99] }", "/tab/{n}", 300, missing="text", aside=_dead)
data(
    "missing-echo", "words", "Letter of [date] :: <p>[20 words]", "/letter/{word}", 250, missing="echo", aside=_dead,
    lists="/letters?page={}", chain=False)
data(
    "missing-home", "hashes", "[#12] :: <pre>[#32]</pre>", "/blob/{key:.12}", 300, missing="home", aside=_dead, others=2
)
data(
    "missing-last", "scores", "Score :: <p>[0-5]:[0-5] ([0-3]:[0-3]), {4*[1-90]' }", "/score?id={n}", 300,
    missing="last", aside=_dead, noise=everything)
# fmt: on
