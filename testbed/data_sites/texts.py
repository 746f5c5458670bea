"""Words in many scripts, pictures, sounds, and data that stand in attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from testbed.data_sites.layout import advert, everything, made_in, visitors
from testbed.data_sites.registry import Kind, data
from testbed.data_sites.site import items, key, lines, name, pairs, table, words

if TYPE_CHECKING:
    from random import Random

Page = tuple[str, str]


@data("a picture, and no word", "/photo/{n}", 300)
def photos(n: int, draw: Random) -> Page:
    return "Photo", f"<img src='/img/{key(16, 'photo', n)}.jpg' alt=''>"


@data("a picture in numbered files", "/gallery/{group}/{n}.html", 300, folders=("/gallery/{group}/",))
def gallery(n: int, draw: Random) -> Page:
    return "Gallery", f"<a href='/full/DSC{n:05}.JPG'><img src='/thumbs/DSC{n:05}.JPG'></a>"


@data("a sound, and no word", "/listen?id={n}", 250, lists="/all?page={}")
def sounds(n: int, draw: Random) -> Page:
    return "Listen", f"<audio controls src='/mp3/{key(10, 'sound', n)}.mp3'></audio>"


@data("a film in a frame of another site", "/watch/{key:.11}", 250, others=3)
def films(n: int, draw: Random) -> Page:
    return "Watch", f"<iframe src='https://video.example/embed/{key(11, 'film', n)}'></iframe>"


@data("a curve drawn in the page", "/chart/{day:%Y/%m/%d}", 300)
def charts(n: int, draw: Random) -> Page:
    return (
        "Chart",
        f"<svg viewBox='0 0 240 99'><path d='M0,50{''.join(f'L{at * 10},{draw.randrange(99)}' for at in range(24))}'/></svg>",
    )


@data("pictures named by what they show, in alt", "/alt/{n}", 250, noise=visitors)
def alternative_texts(n: int, draw: Random) -> Page:
    return "View", f"<img src='/view.php' alt='{words(6, 'alt', n)}'>"


@data("values of meters, in attributes", "/gauges/{n}", 300, entry=0)
def gauges(n: int, draw: Random) -> Page:
    return "Gauges", "".join(
        f"<label>{each} <meter max=99 value={draw.randrange(99)}></meter></label>"
        for each in ("oil", "air", "fuel", "heat")
    )


@data("numbers in data attributes and titles", "/cells?sheet={n}", 250, lists="/sheets/page/{}")
def data_attributes(n: int, draw: Random) -> Page:
    return "Sheet", table(
        [f"<span data-v='{draw.randrange(10)}' title='{draw.randrange(10)}'></span>" for _ in range(8)]
        for _ in range(6)
    )


@data("one digit a cell", "/life/{n}", 400, entry=0)
def generations(n: int, draw: Random) -> Page:
    return "Generation", table([draw.randrange(10) for _ in range(6)] for _ in range(5))


@data("values of a form that is filled in", "/form.asp?rec={n}", 300, noise=made_in)
def forms(n: int, draw: Random) -> Page:
    return (
        "Record",
        f"<form>{''.join(f'<input name=f{at} value={draw.randrange(100)} readonly>' for at in range(9))}</form>",
    )


@data("data for a script of the page", "/points/{key:.6}", 250, others=2)
def scripts(n: int, draw: Random) -> Page:
    return (
        "Points",
        f"<div id=map></div><script type='application/json'>{[draw.randrange(100) for _ in range(20)]}</script>",
    )


@data("the title only; the page is the same", "/titled/{n}", 250, lists="/titles?page={}", chain=False)
def titles(n: int, draw: Random) -> Page:
    return words(4, "title", n), "<p>To listen, visit our rooms.</p>"


@data("a link to a file, and no word", "/doc/{key:.8}", 250, lists="/docs/page/{}")
def files(n: int, draw: Random) -> Page:
    return "Document", f"<a href='/files/{key(8, 'file', n)}.pdf'>PDF</a>"


@data("an entry of a dictionary", "/word/{word}", 300, others=3)
def dictionary(n: int, draw: Random) -> Page:
    return name("entry", n), f"<p><i>{draw.choice(('n.', 'v.', 'adj.'))}</i> {words(5, 'meaning', n)}"


@data("endings of a verb, the same for all", "/verb/{word}", 300, lists="/verbs?page={}", noise=advert)
def conjugations(n: int, draw: Random) -> Page:
    stem = words(1, "verb", n)
    return f"to {stem}", table(
        (who, stem + end)
        for who, end in zip(("I", "you", "she", "we", "they"), ("o", "as", "at", "amus", "ant"), strict=True)
    ) + lines([n])


@data("notes of an hour: a few known words", "/status/{n}", 500, noise=everything)
def status_messages(n: int, draw: Random) -> Page:
    return "Status", items(f"{each}: {draw.choice(('up', 'down', 'slow', 'idle'))}" for each in "abcdefghik")


def _script(first: int, size: int, spaced: bool, marks: str) -> Kind:
    """Texts in letters from a code point on."""
    letters = [chr(first + at) for at in range(size)]

    def record(n: int, draw: Random) -> Page:
        between = " " if spaced else ""
        text = between.join("".join(draw.choices(letters, k=draw.randrange(2, 6))) for _ in range(40))
        return "".join(draw.choices(letters, k=5)), f"<p>{text}{marks}</p>"

    return record


#: Name, first letter, number of letters, whether words have spaces, end of a sentence, address, fields of the layout.
_SCRIPTS: tuple[tuple[str, int, int, bool, str, str, dict[str, object]], ...] = (
    ("chinese", 0x4E00, 3000, False, "。", "/{n}.html", {"lists": "/list_{}.html"}),
    ("japanese", 0x3042, 80, False, "。", "/{day:%Y年%m月}/{n}", {"folders": ("/{day:%Y年%m月}/",)}),
    ("korean", 0xAC00, 2000, True, ".", "/view?no={n}", {"lists": "/board?page={}"}),
    ("arabic", 0x0628, 35, True, "؟", "/{day:%Y/%m/%d}/", {}),
    ("hindi", 0x0905, 50, True, "।", "/लेख/{n}", {"others": 2}),
    ("thai", 0x0E01, 46, False, "", "/topic/{n}", {"chain": False, "lists": "/topics?page={}"}),
    ("russian", 0x0430, 32, True, ".", "/новости/{n}", {"lists": "/новости/page/{}"}),
    ("greek", 0x03B1, 25, True, ".", "/el/{word}", {"others": 3}),
    ("hebrew", 0x05D0, 27, True, ".", "/he;id={n}", {}),
    ("amharic", 0x1208, 200, True, "።", "/am/{group}/{n}", {"folders": ("/am/{group}/",)}),
)
for _name, _first, _size, _spaced, _end, _address, _fields in _SCRIPTS:
    _record = _script(_first, _size, _spaced, _end)
    _record.__name__ = _name
    data("letters of another script", _address, 250, **_fields)(_record)


@data("numbers in Chinese signs", "/价格/{day:%Y%m%d}", 300)
def chinese_prices(n: int, draw: Random) -> Page:
    goods = ("米", "油", "茶", "糖", "盐")
    return "价格", table((each, "".join(draw.choices("〇一二三四五六七八九", k=3))) for each in goods)


@data("numbers in Arabic digits", "/أسعار/{n}", 300, noise=visitors)
def arabic_rates(n: int, draw: Random) -> Page:
    return "أسعار", items("".join(draw.choices("٠١٢٣٤٥٦٧٨٩", k=4)) for _ in range(6))


@data("words of five scripts in one list", "/mixed/{key:.6}", 250, lists="/mixed?page={}")
def mixed_scripts(n: int, draw: Random) -> Page:
    return "Names", pairs(
        **{
            code: "".join(chr(first + draw.randrange(20)) for _ in range(4))
            for code, first in (("zh", 0x5000), ("ru", 0x0430), ("ar", 0x0628), ("el", 0x03B1), ("en", 0x61))
        }
    )
