"""Identifiers, hashes, codes: records that have next to no word."""

from __future__ import annotations

from typing import TYPE_CHECKING

from testbed.data_sites.layout import captcha, everything, made_in, secrets
from testbed.data_sites.registry import data
from testbed.data_sites.site import combined, items, key, lines, name, pairs, table, words

if TYPE_CHECKING:
    from random import Random

Page = tuple[str, str]
_FILES = [f"src/{words(1, 'file', at)}.c" for at in range(30)]


@data("hashes, files of few names and a diffstat", "/commit/{key}", 400)
def commits(n: int, draw: Random) -> Page:
    rows = (
        (file, "+" * draw.randrange(9) + "-" * draw.randrange(9)) for file in draw.sample(_FILES, draw.randrange(1, 5))
    )
    return key(40, "commits", n)[:10], f"parent {key(40, 'commits', n - 1)}<br>tree {key(40, 'tree', n)}{table(rows)}"


@data("nothing but a hash in another hash's name", "/object/{key:.2}/{key:.38}", 300, others=2)
def objects(n: int, draw: Random) -> Page:
    return "Object", lines([key(40, "object", n)])


@data("checksums of files, two hashes a line", "/sums/{n}.html", 250, lists="/sums/page/{}")
def checksums(n: int, draw: Random) -> Page:
    return "SHA256SUMS", lines(f"{draw.getrandbits(256):064x}  part{at:02}.bin" for at in range(12))


@data("sixteen lines of sixteen bytes", "/dump?offset={n}", 300, entry=0)
def hex_dumps(n: int, draw: Random) -> Page:
    return "Dump", lines(f"{n * 256 + at * 16:08x}  {draw.randbytes(16).hex(' ')}" for at in range(16))


@data("letters and digits of a part", "/parts/{key:.5}-{key:.3}", 500, lists="/parts?page={}", chain=False)
def part_numbers(n: int, draw: Random) -> Page:
    codes = (
        f"{draw.choice('ABCKX')}{draw.randrange(1000):03}-{draw.randrange(100):02}{draw.choice('RS')}" for _ in range(4)
    )
    return next(codes), items([*codes, f"M{draw.randrange(3, 9)}x{draw.randrange(10, 60)}"])


@data("four letters, 600 times", "/seq/{key:.9}", 300, others=3, chain=False)
def genes(n: int, draw: Random) -> Page:
    return f"ENSG{n:08}", lines("".join(draw.choices("acgt", k=60)) for _ in range(10))


@data("identifiers of a gene in five other data bases", "/gene?id={n}", 300, lists="/genes?page={}", noise=made_in)
def cross_references(n: int, draw: Random) -> Page:
    return f"{name('gene', n % 90).upper()}{n // 90}", items(
        f"{base}:{draw.randrange(10**5, 10**7)}" for base in ("HGNC", "MIM", "UniGene", "GeneID", "KEGG")
    )


@data("lengths and angles of a cell", "/cif/{n}", 300, folders=("/cif/range/{group}/",))
def crystals(n: int, draw: Random) -> Page:
    return f"{n}", pairs(
        **{axis: f"{draw.uniform(3, 30):.4f}({draw.randrange(1, 9)})" for axis in "abc"},
        group=f"P{draw.randrange(1, 231)}",
        Z=draw.choice((2, 4, 8)),
    )


@data("coefficients of gates in ones and zeros", "/bits/{n}", 256, entry=0)
def bits(n: int, draw: Random) -> Page:
    return "Rule", lines("".join(draw.choices("01", k=32)) for _ in range(8))


@data("a code point, its bytes and its sign", "/u/{n:04x}", 300, others=1)
def code_points(n: int, draw: Random) -> Page:
    sign = chr(0x1F300 + n)
    return f"U+{0x1F300 + n:04X}", pairs(
        sign=sign, utf8=sign.encode().hex(" "), utf16=sign.encode("utf-16-be").hex(" ")
    )


@data("dots and dashes", "/morse/{word}", 300, lists="/morse/page/{}", chain=False)
def morse(n: int, draw: Random) -> Page:
    return "Say it", f"<p>{' '.join(''.join(draw.choices('.-', k=draw.randrange(1, 5))) for _ in range(20))}"


@data("notes of a tune as letters", "/abc/{n}", 300, noise=captcha)
def tunes(n: int, draw: Random) -> Page:
    return "Tune", lines(["X:1", "K:D", " | ".join("".join(draw.choices("ABcdefg", k=6)) for _ in range(8))])


@data("a color: three numbers, a bar in that color", "/color/{key:.6}", 400, others=3, chain=False)
def colors(n: int, draw: Random) -> Page:
    red, green, blue = (draw.randrange(256) for _ in range(3))
    return "Color", f"<div style='background:#{red:02x}{green:02x}{blue:02x}'>&nbsp;</div>{red}, {green}, {blue}"


@data("an error's number and a sentence of known words", "/errors/0x{n:08x}.html", 300, lists="/errors/page/{}")
def error_codes(n: int, draw: Random) -> Page:
    sentence = combined(
        n,
        ("The", "This", "A"),
        ("file", "device", "volume", "thread"),
        ("was not", "cannot be", "is"),
        ("found", "open", "ready", "valid", "locked"),
        ("here", "now", "yet"),
    )
    return f"0x{n:08X}", f"<p>{' '.join(sentence)}. ({n})"


@data("number, year and class of a standard", "/std/{n}:2{n:03}", 300, folders=("/std/list-{group}",), chain=False)
def standards(n: int, draw: Random) -> Page:
    return f"Standard {n}", pairs(
        year=draw.randrange(1960, 2024),
        ICS=f"{draw.randrange(1, 99)}.{draw.randrange(10, 900)}",
        pages=draw.randrange(4, 300),
        price=f"{draw.randrange(30, 300)}.00",
    )


@data("numbers of patents cited", "/patent?number={n}", 300, others=2, noise=secrets)
def patents(n: int, draw: Random) -> Page:
    return f"US{4_000_000 + n}", items(f"US{draw.randrange(3_000_000, 4_000_000)}" for _ in range(8))


@data("shelf marks of books", "/shelf/{group}/{key:.7}", 300, folders=("/shelf/{group}/",), chain=False)
def call_numbers(n: int, draw: Random) -> Page:
    return "Holding", items(
        f"{draw.choice(['QA', 'QB', 'PN', 'HV'])} {draw.randrange(1, 999)}.{draw.choice('BKMT')}{draw.randrange(99)} {draw.randrange(1930, 2023)}"
        for _ in range(3)
    )


@data("a code of five digits and a place", "/zip/{n:05}", 400, chain=False, folders=("/zip/{group}xx",))
def postal_codes(n: int, draw: Random) -> Page:
    return f"{n:05}", f"<p>{name('place', n)}, {draw.uniform(-60, 60):.2f}, {draw.uniform(0, 90):.2f}"


@data(
    "three letters, four letters and two angles",
    "/airport/{key:.4}",
    300,
    lists="/airports?page={}",
    all_lists=True,
    chain=False,
)
def airports(n: int, draw: Random) -> Page:
    code = "".join(draw.choices("ABCDEFGHIKLMNOPRSTUVWXZ", k=4))
    return code[1:], pairs(
        ICAO=code,
        elevation=draw.randrange(4000),
        runway=f"{draw.randrange(36):02}/{draw.randrange(1000, 4000)} m",
        lat=f"{draw.uniform(-60, 60):.3f}",
    )


@data(
    "a real identifier in a parameter called sid",
    "/station?sid={key:.32}",
    300,
    lists="/stations?page={}",
    chain=False,
    noise=everything,
)
def stations_by_sid(n: int, draw: Random) -> Page:
    return name("station", n), pairs(
        height=draw.randrange(3000), since=draw.randrange(1880, 2020), wmo=draw.randrange(10_000, 99_999)
    )


@data("threads in a parameter called t", "/thread?t={n}", 400)
def threads_by_t(n: int, draw: Random) -> Page:
    return (
        "Thread",
        f"<p>{draw.choice(('yes', 'no', 'ok', 'lol'))} {draw.randrange(1000)}, {draw.randrange(24):02}:{draw.randrange(60):02}",
    )


@data("references of goods in a parameter called ref", "/item?ref={key:.8}", 300, others=3, chain=False)
def goods_by_ref(n: int, draw: Random) -> Page:
    return "Item", pairs(size=draw.randrange(30, 50), stock=draw.randrange(90), price=f"{draw.randrange(9, 400)}.99")


@data("sessions of a parliament, in a path like a session id", "/session;id={key:.24}", 250)
def sessions(n: int, draw: Random) -> Page:
    return "Session", pairs(
        members=draw.randrange(100, 400),
        motions=draw.randrange(40),
        from_=f"{draw.randrange(8, 12)}:00",
        to=f"{draw.randrange(13, 22)}:30",
    )
