"""Measurements and what is calculated: pages of numbers, times and angles."""

from __future__ import annotations

from datetime import timedelta
from math import cos, gcd, pi, sin
from typing import TYPE_CHECKING

from testbed.data_sites.layout import START, captcha, everything, made_in, quotation, visitors
from testbed.data_sites.registry import data
from testbed.data_sites.site import items, lines, name, pairs, table

if TYPE_CHECKING:
    from random import Random

Page = tuple[str, str]
_WIND = ("N", "NE", "E", "SE", "S", "SW", "W", "NW")
_SKY = ("clear", "cloudy", "rain", "fog")


def _clock(minutes: float) -> str:
    return f"{int(minutes) // 60 % 24:02}:{int(minutes) % 60:02}"


def _date(number: int, form: str = "%d %B %Y") -> str:
    return (START + timedelta(number)).strftime(form)


def _season(number: int) -> float:
    return sin(2 * pi * (number - 100) / 365)


@data("numbers below 100 and words of the sky, an hour a line", "/{day:%Y/%m/%d}/", 500)
def weather(n: int, draw: Random) -> Page:
    mean = 10 + 12 * _season(n) + draw.gauss(0, 4)
    rows = (
        (hour, round(mean + 4 * sin((hour - 9) / 4)), draw.randrange(40, 99), draw.choice(_SKY)) for hour in range(24)
    )
    return f"Weather on {_date(n)}", table(rows, "hour", "°C", "humidity", "sky")


@data("the same below folders of months", "/archive/{day:%Y-%m-%d}.html", 400, folders=("/archive/{day:%Y-%m}.html",))
def weather_by_month(n: int, draw: Random) -> Page:
    return weather(n + 900, draw)


@data("one temperature a day", "/t?d={day:%Y%m%d}", 365, entry=180)
def one_temperature(n: int, draw: Random) -> Page:
    return _date(n), f"<p>At noon: {10 + 12 * _season(n) + draw.gauss(0, 3):.2f} degrees"


@data("times and heights of tides", "/tides/{day:%Y/%m/%d}", 400, entry=200)
def tides(n: int, draw: Random) -> Page:
    first, height = n * 50.47 % 745, 2.1 + cos(2 * pi * n / 14.77) / 2
    rows = (
        (
            "high" if each % 2 == 0 else "low",
            _clock(first + each * 372.6),
            f"{height + draw.random() / 4 - each % 2 * 1.6:.1f} m",
        )
        for each in range(4)
    )
    return f"Tides {_date(n, '%d.%m.%Y')}", table(rows)


@data("times only: sunrise, noon, sunset", "/sun/{day:%Y-%m-%d}", 500, folders=("/sun/{day:%Y}", "/sun/{day:%Y-%m}"))
def sun_times(n: int, draw: Random) -> Page:
    half = 360 + 130 * _season(n + 20)
    noon = 733 + 8 * sin(n / 29)
    rows = (
        (town, _clock(noon - half + at * 7.3), _clock(noon + at * 5.1), _clock(noon + half - at * 6.7))
        for at, town in enumerate(("Aber", "Born", "Cove", "Dale", "Erin"))
    )
    return f"Sun on {_date(n)}", table(rows, "town", "rise", "noon", "set")


@data("five times a day, a minute apart from those of the day before", "/prayer.php?date={day:%d-%m-%Y}", 365)
def prayer_times(n: int, draw: Random) -> Page:
    half = 370 + 110 * _season(n + 20) + n / 97
    return _date(n), items(
        f"{each}: {_clock(733 + at * half / 2)}"
        for at, each in zip((-2.4, 0, 1.1, 2, 2.5), ("Fajr", "Dhuhr", "Asr", "Maghrib", "Isha"), strict=True)
    )


@data("phases and angles, far into the future", "/eclipse/{n}", 300, lists="/eclipses/page/{}", entry=150)
def eclipses(n: int, draw: Random) -> Page:
    year, kind = 1901 + n * 1.33, draw.choice(("total", "partial", "annular"))
    return f"Eclipse of {year:.0f}", pairs(
        saros=100 + n % 60,
        gamma=f"{draw.uniform(-1.5, 1.5):.4f}",
        kind=kind,
        at=_clock(draw.randrange(1440)),
        length=f"{draw.randrange(12)}m{draw.randrange(60)}s",
    )


@data("exchange rates of twelve currencies", "/rates/{day:%Y%m%d}.html", 500, lists="/rates/page/{}")
def exchange_rates(n: int, draw: Random) -> Page:
    codes = ("USD", "JPY", "GBP", "CHF", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "CAD", "AUD")
    return f"Rates of {_date(n)}", table(
        (code, f"{1.1 + at * 0.7 + sin(n / 40 + at) / 9 + draw.random() / 50:.4f}") for at, code in enumerate(codes)
    )


@data("prices with two digits, the same companies every day", "/quotes?day={day:%Y-%m-%d}", 365)
def stock_prices(n: int, draw: Random) -> Page:
    return "Closing prices", table(
        (name("stock", at), f"{20 + at + 5 * sin(n / 30 + at) + draw.random():.2f}", f"{draw.uniform(-2, 2):+.2f}%")
        for at in range(15)
    )


@data("levels of a river at nine gauges", "/levels/{n}", 400, lists="/levels?page={}", noise=made_in)
def river_levels(n: int, draw: Random) -> Page:
    return f"Levels, report {n}", table(
        (name("gauge", at), draw.randrange(90, 400), draw.choice("↑↓→")) for at in range(9)
    )


@data("four words for eleven plants", "/pollen/{day:%Y/%j}", 300)
def pollen(n: int, draw: Random) -> Page:
    plants = ("hazel", "alder", "birch", "grass", "rye", "mugwort", "ash", "ragweed", "elm", "oak", "beech")
    return "Pollen today", table((plant, draw.choice(("none", "low", "middle", "high"))) for plant in plants)


@data("heights of snow, mostly the same", "/snow;day={n}", 300, noise=visitors)
def snow_heights(n: int, draw: Random) -> Page:
    return "Snow", pairs(
        valley=max(0, 20 + n % 37 - n // 11), summit=100 + n // 3, pistes=f"{draw.randrange(9)}/9", lifts=n % 7
    )


@data("counts of lightning by a grid of digits", "/strikes/{key:.12}.html", 300, others=2)
def lightning(n: int, draw: Random) -> Page:
    return "Strikes", lines("".join(str(min(9, int(draw.expovariate(1)))) for _ in range(30)) for _ in range(12))


@data("places, depths and magnitudes", "/event/us{key:.8}", 400, lists="/latest?page={}", chain=False)
def earthquakes(n: int, draw: Random) -> Page:
    return f"M {draw.uniform(1, 6):.1f}", pairs(
        latitude=f"{draw.uniform(-60, 60):.3f}",
        longitude=f"{draw.uniform(-180, 180):.3f}",
        depth=f"{draw.randrange(1, 300)} km",
        stations=draw.randrange(4, 90),
    )


@data("a line of numbers per minute", "/log/{day:%Y}/{day:%m}/{day:%d}.txt.html", 250, noise=everything)
def sensor_log(n: int, draw: Random) -> Page:
    return f"sensor7 {_date(n, '%y%m%d')}", lines(
        f"{_clock(at * 24)} {20 + draw.gauss(0, 1):.1f} {draw.randrange(980, 1030)} {draw.randrange(2)}"
        for at in range(60)
    )


@data("vehicles an hour at a crossing", "/count/{n}/", 400, entry=0, noise=captcha)
def traffic_counts(n: int, draw: Random) -> Page:
    return "Crossing 4", table((hour, draw.randrange(9, 900), draw.randrange(90)) for hour in range(24))


@data("readings of a meter, six digits each", "/meter/reading.asp?no={n}", 300, noise=quotation)
def meter_readings(n: int, draw: Random) -> Page:
    return "Reading", f"<p>{draw.randrange(10**5, 10**6)} kWh"


@data("positions of ships", "/ais/{key:.9}", 300, lists="/ais/page/{}", all_lists=True, chain=False)
def ship_positions(n: int, draw: Random) -> Page:
    return name("ship", n), pairs(
        lat=f"{draw.uniform(-60, 60):.5f}",
        lon=f"{draw.uniform(-180, 180):.5f}",
        course=draw.randrange(360),
        knots=draw.randrange(25),
    )


@data("six balls of 49, a draw a page", "/draw/{n}", 400)
def lottery(n: int, draw: Random) -> Page:
    return f"Draw {n}", " ".join(f"<b>{ball}</b>" for ball in sorted(draw.sample(range(1, 50), 6)))


@data("a card of 25 numbers below 76", "/card.php?id={n}", 300, others=3, chain=False)
def bingo(n: int, draw: Random) -> Page:
    columns = [draw.sample(range(column * 15 + 1, column * 15 + 16), 5) for column in range(5)]
    return "Your card", table(zip(*columns, strict=True), *"BINGO")


@data("81 digits, most of them missing", "/puzzle/{n}", 400, lists="/puzzles/page/{}")
def sudoku(n: int, draw: Random) -> Page:
    rows, columns, digits = draw.sample(range(9), 9), draw.sample(range(9), 9), draw.sample(range(1, 10), 9)

    def cell(row, column):
        return digits[(rows[row] // 3 + rows[row] % 3 * 3 + columns[column]) % 9] if draw.random() < 0.35 else ""

    return "Sudoku of the day", table([cell(row, column) for column in range(9)] for row in range(9))


@data("factors of a number", "/number/{n}", 500, entry=1)
def factors(n: int, draw: Random) -> Page:
    rest, found, prime = n + 2, [], 2
    while rest > 1:
        while rest % prime == 0:
            rest, found = rest // prime, [*found, prime]
        prime += 1
    return (
        str(n + 2),
        f"<p>{n + 2} = {' × '.join(map(str, found))}</p><p>coprime below: {sum(gcd(n + 2, each) == 1 for each in range(1, n + 2))}",
    )


@data("the first thirty numbers of a sequence", "/A{n:06}", 350, others=2, entry=7)
def sequences(n: int, draw: Random) -> Page:
    first, step, bend = draw.randrange(20), draw.randrange(1, 12), draw.randrange(6)
    return f"A{n:06}", "<p>" + ", ".join(str(first + step * at + bend * at * at) for at in range(30))


@data("a table of a function, four digits a cell", "/tables/{group}/{n}.html", 300, folders=("/tables/{group}/",))
def mathematical_tables(n: int, draw: Random) -> Page:
    return f"Table {n}", table(
        [f"{n + row / 10:.1f}", *(f"{sin((n + row / 10 + column / 100) * pi / 180):.4f}" for column in range(10))]
        for row in range(10)
    )


@data("magnitude and coordinates of stars", "/hip/{n}", 400, lists="/catalogue?page={}", noise=made_in)
def stars(n: int, draw: Random) -> Page:
    return f"HIP {n}", pairs(
        RA=f"{draw.randrange(24):02}h {draw.randrange(60):02}m {draw.uniform(0, 60):05.2f}s",
        dec=f"{draw.randrange(-89, 90):+}°",
        mag=f"{draw.uniform(0, 12):.2f}",
        type=draw.choice("OBAFGKM"),
    )


@data("numbers of nucleons, masses, half-lives", "/z{group}/a{n}.html", 300, folders=("/z{group}/",))
def isotopes(n: int, draw: Random) -> Page:
    return f"{n // 3 + 1} {n}", pairs(
        Z=n // 3 + 1,
        A=n,
        mass=f"{n * 1.0087 + draw.random() / 100:.6f}",
        half_life=f"{draw.uniform(1, 90):.2g} {draw.choice(('s', 'min', 'h', 'd', 'a'))}",
    )
