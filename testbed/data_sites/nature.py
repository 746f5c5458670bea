"""Measurements and what is calculated: pages of numbers, times and angles."""

from __future__ import annotations

from datetime import timedelta
from math import gcd, pi, sin
from typing import TYPE_CHECKING

from testbed.data_sites.noise import captcha, everything, made_in, quotation, visitors
from testbed.data_sites.registry import data
from testbed.data_sites.site import items, lines, table
from testbed.data_sites.templates import START

if TYPE_CHECKING:
    from random import Random

    from testbed.data_sites.templates import Kind

_WEATHER = "Weather on [date] :: <table>{24*<tr><td>[i]<td>[2-27]<td>[40-99]<td>[clear|cloudy|rain|fog]}</table>"
_RATES = ["USD", "JPY", "GBP", "CHF", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "CAD", "AUD"]
_PLANTS = ["hazel", "alder", "birch", "grass", "rye", "mugwort", "ash", "elm", "oak", "beech", "ragweed"]


def _season(number: int) -> float:
    return sin(2 * pi * (number - 100) / 365)


def _times(number: int, least: float, most: float, *at: float) -> list[str]:
    """Times of a day that move slowly with the seasons, around its noon."""
    half = (least + most) / 2 + (most - least) / 2 * _season(number + 20)
    minutes = [int(733 + 8 * sin(number / 29) + each * half) for each in at]
    return [f"{each // 60 % 24:02}:{each % 60:02}" for each in minutes]


def _date(number: int) -> str:
    return f"{START + timedelta(number):%d %B %Y}"


def _sun(n: int, draw: Random) -> tuple[str, str]:
    towns = ("Aber", "Born", "Cove", "Dale", "Erin")
    return _date(n), table([town, *_times(n, 230 + 9 * at, 490 - 9 * at, -1, 0, 1)] for at, town in enumerate(towns))


def _prayers(n: int, draw: Random) -> tuple[str, str]:
    return _date(n), items(_times(n, 260, 480, -1.2, 0, 0.55, 1, 1.25))


def _sudoku(n: int, draw: Random) -> tuple[str, str]:
    rows, columns, digits = draw.sample(range(9), 9), draw.sample(range(9), 9), draw.sample(range(1, 10), 9)
    full = ([digits[(row // 3 + row % 3 * 3 + column) % 9] for column in columns] for row in rows)
    return "Sudoku of the day", table([digit if draw.random() < 0.35 else "" for digit in row] for row in full)


def _factors(n: int, draw: Random) -> tuple[str, str]:
    whole = rest = n + 2
    found: list[int] = []
    for prime in range(2, whole + 1):
        while rest % prime == 0:
            rest, found = rest // prime, [*found, prime]
    coprime = sum(gcd(whole, each) == 1 for each in range(whole))
    return str(whole), f"<p>{whole} = {' × '.join(map(str, found))}</p><p>coprime below: {coprime}</p>"


def _sequence(n: int, draw: Random) -> tuple[str, str]:
    first, step, bend = (draw.randrange(1, most) for most in (30, 20, 9))
    return f"A{n:06}", f"<p>{', '.join(str(first + step * at + bend * at * at) for at in range(30))}</p>"


def _sines(n: int, draw: Random) -> tuple[str, str]:
    angles = ((n + row / 10, [n + row / 10 + column / 100 for column in range(10)]) for row in range(10))
    return f"Table {n}", table(
        [f"{first:.1f}", *(f"{sin(each * pi / 180):.4f}" for each in row)] for first, row in angles
    )


def _code_point(n: int, draw: Random) -> tuple[str, str]:
    sign = chr(0x1F300 + n)
    return f"U+{ord(sign):X}", items([sign, sign.encode().hex(" "), sign.encode("utf-16-be").hex(" ")])


def _bingo(n: int, draw: Random) -> tuple[str, str]:
    columns = [draw.sample(range(column * 15 + 1, column * 15 + 16), 5) for column in range(5)]
    return "Your card", table(zip(*columns, strict=True), *"BINGO")


def _lottery(n: int, draw: Random) -> tuple[str, str]:
    return f"Draw {n}", " ".join(f"<b>{ball}</b>" for ball in sorted(draw.sample(range(1, 50), 6)))


def _automaton(n: int, draw: Random) -> tuple[str, str]:
    rows = [[int(at == 20) for at in range(41)]]
    for _ in range(20):
        rows.append([n >> (rows[-1][at - 1] * 4 + rows[-1][at] * 2 + rows[-1][(at + 1) % 41]) & 1 for at in range(41)])
    return f"Rule {n}", lines([f"{n:08b}", *("".join(map(str, row)) for row in rows)])


_COMPUTED: tuple[tuple[str, str, Kind, str, int, dict[str, object]], ...] = (
    ("sun-times", "times only", _sun, "/sun/{day:%Y-%m-%d}", 500, {"folders": ("/sun/{day:%Y}", "/sun/{day:%Y-%m}")}),
    (
        "prayer-times",
        "five times, a minute from those of the day before",
        _prayers,
        "/p.php?date={day:%d-%m-%Y}",
        365,
        {},
    ),
    ("sudoku", "81 digits, most of them missing", _sudoku, "/puzzle/{n}", 400, {"lists": "/puzzles/page/{}"}),
    ("factors", "factors of a number", _factors, "/number/{n}", 500, {"entry": 1}),
    ("sequences", "thirty numbers of a sequence", _sequence, "/A{n:06}", 350, {"others": 2, "entry": 7}),
    ("sines", "tables of a function", _sines, "/t/{group}/{n}.html", 300, {"folders": ("/t/{group}/",)}),
    ("code-points", "a sign and its bytes", _code_point, "/u/{n:04x}", 300, {"others": 1}),
    ("bingo", "a card of 25 numbers", _bingo, "/card.php?id={n}", 300, {"others": 3, "chain": False}),
    ("lottery", "six balls of 49", _lottery, "/draw/{n}", 400, {}),
    ("automata", "ones and zeros", _automaton, "/rule/{n}", 256, {"entry": 30}),
)
for _site, _varies, _record, _address, _count, _fields in _COMPUTED:
    data(_site, _varies, _record, _address, _count, **_fields)

# A table: a kind takes few lines.
# fmt: off
data("weather", "small numbers and words of the sky, an hour a line", _WEATHER, "/{day:%Y/%m/%d}/", 500)
data("weather-by-month", "the same", _WEATHER, "/w/{day:%Y-%m-%d}.html", 400, folders=("/w/{day:%Y-%m}.html",))
data(
    "one-temperature", "one number a day", "[date] :: <p>At noon: [-9.00-29.00]</p>", "/t?d={day:%Y%m%d}", 365,
    entry=180)
data(
    "tides", "times and heights", "Tides [date] :: {4*<p>[high|low] [time] [0.1-3.9] m</p>}", "/tides/{day:%Y/%m/%d}",
    400, entry=200)
data(
    "eclipses", "angles and times, of years to come",
    "[total|partial] :: [190-229][0-9]: [-1.5000-1.5000], [time], [1-12] m", "/eclipse/{n}", 300,
    lists="/eclipses/page/{}", entry=150)
data(
    "exchange-rates", "four decimals for twelve currencies",
    f"Rates of [date] :: <table>{''.join(f'<tr><td>{code}<td>[0.5000-9.0000]' for code in _RATES)}</table>",
    "/rates/{day:%Y%m%d}.html", 500, lists="/rates/page/{}")
data(
    "stock-prices", "prices of the same companies", "Close :: {15*<p>[stock [i]] [9.00-99.00] [-2.00-2.00]%}",
    "/quotes?day={day:%Y-%m-%d}", 365)
data(
    "river-levels", "numbers and arrows of nine gauges", "Report [n] :: {9*<p>[gauge [i]]: [90-400] [↑|↓|→]}",
    "/levels/{n}", 400, lists="/levels?page={}", noise=made_in)
data(
    "pollen", "four words for eleven plants",
    "Pollen :: " + "".join(f"<p>{each}: [none|low|middle|high]" for each in _PLANTS), "/pollen/{day:%Y/%j}", 300)
data(
    "snow-heights", "four numbers", "Snow :: <p>valley [0-40], summit [90-300], pistes [0-9]/9, lifts [0-19]",
    "/snow;day={n}", 300, noise=visitors)
data(
    "lightning", "a grid of digits", "Strikes :: <pre>{12*[00001123*30]\n}</pre>", "/strikes/{key:.12}.html", 300,
    others=2)
data(
    "earthquakes", "places and magnitudes", "M [1.0-6.9] :: [-60.000-60.000], [-180.000-180.000], [1-300] km, [4-90]",
    "/event/us{key:.8}", 400, lists="/latest?page={}", chain=False)
data(
    "sensor-log", "lines of numbers", "sensor7 :: <pre>{60*[time] [19.0-23.0] [980-1030] [0-1]\n}</pre>",
    "/log/{day:%Y}/{day:%m}/{day:%d}.txt.html", 250, noise=everything)
data(
    "traffic-counts", "numbers an hour", "Crossing 4 :: <table>{24*<tr><td>[i]<td>[9-900]<td>[0-90]}</table>",
    "/count/{n}/", 400, entry=0, noise=captcha)
data(
    "meter-readings", "six digits", "Reading :: <p>[100000-999999] kWh", "/meter/reading.asp?no={n}", 300,
    noise=quotation)
data(
    "ship-positions", "two angles and a name",
    "[1 words] :: [-60.00000-60.00000] [-180.00000-180.00000] [0-359]° [0-25] kn", "/ais/{key:.9}", 300,
    lists="/ais/page/{}", all_lists=True, chain=False)
data(
    "stars", "coordinates and magnitudes",
    "HIP [n] :: [0-23]h [0-59]m [0.00-59.99]s, [-89-89]°, [0.00-12.00], [O|B|A|F|G|K|M]", "/hip/{n}", 400,
    lists="/catalogue?page={}", noise=made_in)
data(
    "isotopes", "masses and half-lives", "[n] :: [1-90] [1.000000-250.000000] u [1.0-90.0] [s|min|h|d|a]",
    "/z{group}/a{n}.html", 300, folders=("/z{group}/",))
data(
    "crystals", "lengths of a cell", "[n] :: {3*<p>[3.0000-30.0000]([1-9])}P[1-230] Z=[2|4|8]", "/cif/{n}", 300,
    folders=("/cif/range/{group}/",))
# fmt: on
