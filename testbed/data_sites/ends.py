"""Data that end in empty pages without end, data with gaps, sparse events, and "not found" that is answered with 200."""

from __future__ import annotations

from typing import TYPE_CHECKING

from testbed.data_sites.layout import captcha, everything, quotation, visitors
from testbed.data_sites.nature import _clock, _date
from testbed.data_sites.registry import data
from testbed.data_sites.site import items, key, lines, link, name, pairs, table, words

if TYPE_CHECKING:
    from random import Random

Page = tuple[str, str]


def _gaps(count: int, *spans: tuple[int, int]) -> frozenset[int]:
    return frozenset(day for first, length in spans for day in range(first, min(first + length, count)))


def _dead(n: int) -> str:
    """A link that leads nowhere, on each tenth page."""
    return link(f"/old/{key(5, 'dead', n)}.html", "Older version") if n % 10 == 3 else ""


def _rain(n: int, draw: Random) -> Page:
    return f"Rain on {_date(n)}", table((hour, f"{max(0, draw.gauss(0, 2)):.1f}") for hour in range(0, 24, 3))


@data("rain by three hours", "/rain/{day:%Y/%m/%d}/", 300, empty_after=True)
def endless_after(n: int, draw: Random) -> Page:
    return _rain(n, draw)


@data("rain by three hours, met from its first day", "/rain/{day:%Y-%m-%d}.html", 300, empty_before=True, entry=0)
def endless_before(n: int, draw: Random) -> Page:
    return _rain(n, draw)


@data(
    "rain by three hours, met in its middle",
    "/rain?d={day:%Y%m%d}",
    400,
    empty_before=True,
    empty_after=True,
    entry=200,
)
def endless_both(n: int, draw: Random) -> Page:
    return _rain(n, draw)


@data(
    "duty rotas of few names",
    "/rota/{day:%Y}/{day:%m}/{day:%d}",
    300,
    empty_before=True,
    empty_after=True,
    entry=150,
    noise=captcha,
)
def endless_with_captcha(n: int, draw: Random) -> Page:
    return "Rota", items(draw.sample([name("duty", at) for at in range(14)], 7))


@data(
    "times of films",
    "/films?day={day:%Y-%m-%d}",
    250,
    empty_after=True,
    noise=quotation,
    entry=0,
    empty="Nothing today.",
)
def endless_with_quotation(n: int, draw: Random) -> Page:
    return "Films today", items(
        f"{_clock(draw.randrange(900, 1400))} {words(2, 'film', draw.randrange(15))}" for _ in range(4)
    )


@data(
    "numbers of a daily report, and what all reports share if there is none",
    "/report/{day:%Y%m%d}",
    300,
    empty_after=True,
    empty="<table><tr><th>births</th><td>-</td></tr><tr><th>deaths</th><td>-</td></tr><tr><th>weddings</th><td>-</td></tr></table>",
    entry=0,
)
def endless_tables(n: int, draw: Random) -> Page:
    return "Report", table(
        (("births", draw.randrange(99)), ("deaths", draw.randrange(99)), ("weddings", draw.randrange(99)))
    )


@data(
    "records by number, next leads on beyond the last",
    "/record.php?id={n}",
    300,
    empty_after=True,
    empty="No such record.",
    entry=0,
)
def no_such_record(n: int, draw: Random) -> Page:
    return "Record", pairs(weight=draw.randrange(100), height=draw.randrange(100), length=draw.randrange(1000))


@data(
    "the same with a list of all",
    "/entry/{n}",
    300,
    empty_after=True,
    empty="Entry does not exist.",
    lists="/entries/page/{}",
    noise=visitors,
)
def no_such_entry(n: int, draw: Random) -> Page:
    return "Entry", lines(f"{draw.randrange(100):02} {draw.randrange(100):02}" for _ in range(4))


@data(
    "rain, with 60 days without a reading, twice", "/gauge9/{day:%Y/%m/%d}", 450, gaps=_gaps(450, (120, 60), (300, 60))
)
def broken_gauge(n: int, draw: Random) -> Page:
    return _rain(n, draw)


@data(
    "prices, none at weekends",
    "/close/{day:%Y-%m-%d}",
    400,
    gaps=frozenset(day for day in range(400) if day % 7 in (0, 1)),
)
def weekends(n: int, draw: Random) -> Page:
    return _date(n), f"<p>{draw.uniform(90, 99):.2f}"


@data(
    "an event a day in one month of six",
    "/events/{day:%Y/%m/%d}",
    600,
    gaps=frozenset(day for day in range(600) if day // 30 % 6),
    noise=quotation,
    empty="No events.",
)
def sparse_events(n: int, draw: Random) -> Page:
    return f"Events on {_date(n)}", f"<p>{_clock(draw.randrange(600, 1300))} {words(2, 'event', draw.randrange(20))}"


@data(
    "events around 200 empty days, on both sides endless",
    "/agenda?day={day:%Y-%m-%d}",
    500,
    gaps=_gaps(500, (150, 200)),
    empty_before=True,
    empty_after=True,
    entry=40,
    empty="No events.",
)
def long_gap(n: int, draw: Random) -> Page:
    return "Agenda", items(
        f"{_clock(draw.randrange(600, 1300))} {words(1, 'act', draw.randrange(30))}" for _ in range(3)
    )


@data("small numbers; a text for dead links", "/tab/{n}", 300, missing="text", aside=_dead)
def missing_text(n: int, draw: Random) -> Page:
    return "Tab", table([draw.randrange(100) for _ in range(5)] for _ in range(2))


@data(
    "words and dates; dead links are echoed",
    "/letter/{word}",
    250,
    missing="echo",
    aside=_dead,
    lists="/letters?page={}",
    chain=False,
)
def missing_echo(n: int, draw: Random) -> Page:
    return f"Letter of {_date(n * 3)}", f"<p>{words(20, 'letter', n)}"


@data("hashes; dead links show the home page", "/blob/{key:.12}", 300, missing="home", aside=_dead, others=2)
def missing_home(n: int, draw: Random) -> Page:
    return key(12, "blob", n), lines([f"{draw.getrandbits(128):032x}"])


@data(
    "scores; dead links show the last page; noise on all",
    "/score?id={n}",
    300,
    missing="last",
    aside=_dead,
    noise=everything,
)
def missing_last(n: int, draw: Random) -> Page:
    return (
        "Score",
        f"<p>{draw.randrange(6)}:{draw.randrange(6)} ({draw.randrange(4)}:{draw.randrange(4)}), {draw.randrange(90)}' {draw.randrange(1, 40)}, {draw.randrange(90)}'",
    )
