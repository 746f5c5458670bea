"""Pictures, sounds, data that stand in attributes, and words in many scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from testbed.data_sites.noise import advert, made_in, visitors
from testbed.data_sites.registry import data

if TYPE_CHECKING:
    from random import Random

    from testbed.data_sites.templates import Kind

# A table: a kind takes few lines.
# fmt: off
data("photos", "a picture, and no word", "Photo :: <img src='/img/[#16].jpg' alt=''>", "/photo/{n}", 300)
data(
    "gallery", "a picture in numbered files",
    "Gallery :: <a href='/full/DSC[n].JPG'><img src='/thumbs/DSC[n].JPG'></a>", "/gallery/{group}/{n}.html", 300,
    folders=("/gallery/{group}/",))
data(
    "sounds", "a sound, and no word", "Listen :: <audio src='/mp3/[#10].mp3'></audio>", "/listen?id={n}", 250,
    lists="/all?page={}")
data(
    "films", "a frame", "Watch :: <iframe src='https://video.example/embed/[#11]'></iframe>", "/watch/{key:.11}", 250,
    others=3)
data("charts", "a curve", "Chart :: <svg><path d='M0,50{24*L[i]0,[0-99]}'/></svg>", "/chart/{day:%Y/%m/%d}", 300)
data("alternative-texts", "alt", "View :: <img src='/view.php' alt='[6 words]'>", "/alt/{n}", 250, noise=visitors)
data(
    "gauges", "values of meters", "Gauges :: {4*<label>no. [i] <meter max=99 value=[0-99]></meter></label>}",
    "/gauges/{n}", 300, entry=0)
data(
    "data-attributes", "data- and title", "Sheet :: {40*<i data-v='[0-9]' title='[0-9]'></i>}", "/cells?sheet={n}", 250,
    lists="/sheets/page/{}")
data(
    "generations", "one digit a cell", "Generation :: <table>{9*<tr><td>[0-9]<td>[0-9]<td>[0-9]}</table>", "/life/{n}",
    400, entry=0)
data(
    "forms", "values of a form", "Record :: <form>{9*<input name=f[i] value=[0-99]>}</form>", "/form.asp?rec={n}", 300,
    noise=made_in)
data(
    "scripts", "data for a script", "Points :: <script>var d=[0-99]{20*,[0-99]};</script>", "/points/{key:.6}", 250,
    others=2)
data(
    "titles", "the title only", "[4 words] :: <p>Visit our rooms.", "/titled/{n}", 250, lists="/titles?page={}",
    chain=False)
data(
    "files", "a link to a file", "Paper :: <a href='/files/[#8].pdf'>PDF</a>", "/doc/{key:.8}", 250,
    lists="/docs/page/{}")
data("dictionary", "an entry", "[1 words] :: <p><i>[n.|v.|adj.]</i> [5 words]", "/word/{word}", 300, others=3)
data(
    "conjugations", "a verb in the same forms", "to [1 words] :: <p>{5*[i]: [1 words][o|as|at|amus|ant]; }",
    "/verb/{word}", 300, lists="/verbs?page={}", noise=advert)
# fmt: on


def _script(first: int, size: int, between: str) -> Kind:
    """Texts in letters from a code point on."""
    letters = [chr(first + at) for at in range(size)]

    def record(n: int, draw: Random) -> tuple[str, str]:
        text = between.join("".join(draw.choices(letters, k=draw.randrange(2, 6))) for _ in range(40))
        return "".join(draw.choices(letters, k=5)), f"<p>{text}</p>"

    return record


#: Name, first letter, number of letters, between words, address, fields of the layout.
_SCRIPTS: tuple[tuple[str, int, int, str, str, dict[str, object]], ...] = (
    ("chinese", 0x4E00, 3000, "", "/{n}.html", {"lists": "/list_{}.html"}),
    ("japanese", 0x3042, 80, "", "/{day:%Y年%m月}/{n}", {"folders": ("/{day:%Y年%m月}/",)}),
    ("korean", 0xAC00, 2000, " ", "/view?no={n}", {"lists": "/board?page={}"}),
    ("arabic", 0x0628, 35, " ", "/{day:%Y/%m/%d}/", {}),
    ("hindi", 0x0905, 50, " ", "/लेख/{n}", {"others": 2}),
    ("thai", 0x0E01, 46, "", "/topic/{n}", {"chain": False, "lists": "/topics?page={}"}),
    ("russian", 0x0430, 32, " ", "/новости/{n}", {"lists": "/новости/page/{}"}),
    ("greek", 0x03B1, 25, " ", "/el/{word}", {"others": 3}),
    ("hebrew", 0x05D0, 27, " ", "/he;id={n}", {}),
    ("amharic", 0x1208, 200, " ", "/am/{group}/{n}", {"folders": ("/am/{group}/",)}),
)
for _site, _first, _size, _between, _address, _fields in _SCRIPTS:
    data(_site, "letters of another script", _script(_first, _size, _between), _address, 250, **_fields)

# fmt: off
data(
    "chinese-prices", "numbers in Chinese signs",
    "价格 :: {5*<p>[米|油|茶|糖] [一二三四五六七八九*3]}", "/价格/{day:%Y%m%d}",
    300)
data("arabic-rates", "numbers in Arabic digits", "أسعار :: {6*<p>[٠١٢٣٤٥٦٧٨٩*4]}", "/أسعار/{n}", 300, noise=visitors)
data(
    "mixed-scripts", "words of four scripts", "Names :: [天地玄黃宇宙*4], [абвгдежзик*5], [αβγδεζηθ*5], [אבגדהוזח*4]",
    "/mixed/{key:.6}", 250, lists="/mixed?page={}")
# fmt: on
