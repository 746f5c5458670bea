"""Summarizes a page's text as a set of hashes, so that two pages of one kind can be compared.

All words and numbers count, by their combination: a mark stands for two neighbours.  Left out is what a server can
write on any page without knowing anything: the words and numbers of the page's own address, the numbers of its
neighbours' addresses, dates, years, and the days of a month's grid.
"""

from __future__ import annotations

import re
from itertools import chain, islice
from typing import TYPE_CHECKING, NamedTuple, TypeAlias
from zlib import crc32

from crawlproject.urls.extract import SEPARATOR

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from collections.abc import Set as AbstractSet

#: 32-bit hashes.
Marks: TypeAlias = frozenset[int]

#: Characters read of a page's text, words and numbers read of it, and embedded files.
MAX_TEXT = 1 << 16
#: Characters by which a long page is told from others, if they show much that is new.
HEAD = 1 << 12
MAX_WORDS = 6_000
MAX_FILES = 200
#: Characters read of the address of an embedded file.
MAX_NAME = 1000
#: Maximum marks of a page; the smallest are kept, so that equal pages keep equal marks.
MAX_MARKS = 2048
#: Marks of one picture: a page with another picture is another page.
MARKS_OF_A_PICTURE = 5
#: Least length of a row of consecutive numbers that is the grid of a month, and not content.
MIN_GRID = 7

_YEARS = range(1900, 2200)

_DATE_WORDS = """
january february march april may june july august september october november december
jan feb mar apr jun jul aug sep sept oct nov dec
monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun
januar jänner februar märz mai juni juli oktober dezember mär okt dez
montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag
janvier février mars avril juin juillet août septembre octobre novembre décembre janv févr avr juil déc
lundi mardi mercredi jeudi vendredi samedi dimanche
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre ene abr ago dic
lunes martes miércoles jueves viernes sábado domingo
gennaio febbraio aprile maggio giugno luglio settembre ottobre novembre dicembre
lunedì martedì mercoledì giovedì venerdì sabato domenica
janeiro fevereiro março maio junho julho setembro outubro novembro dezembro
segunda terça quarta quinta sexta feira
januari februari maart mei augustus maandag dinsdag woensdag donderdag vrijdag zaterdag zondag
marts maj juli augusti oktober december mandag tirsdag onsdag torsdag fredag lørdag søndag
måndag tisdag lördag söndag
styczeń luty marzec kwiecień maj czerwiec lipiec sierpień wrzesień październik listopad grudzień
stycznia lutego marca kwietnia maja czerwca lipca sierpnia września października listopada grudnia
poniedziałek wtorek środa czwartek piątek sobota niedziela
январь февраль март апрель май июнь июль август сентябрь октябрь ноябрь декабрь
января февраля марта апреля мая июня июля августа сентября октября ноября декабря
понедельник вторник среда четверг пятница суббота воскресенье
"""
DATE_WORDS = frozenset(_DATE_WORDS.split())
_DATE_AND_YEARS = DATE_WORDS.union(map(str, _YEARS))

_in_token = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+").findall
_digits = re.compile(r"\d+").findall
_no_digits = re.compile(r"\d+")
# The first digit comes before the assertion: so the search looks for digits, and takes a twentieth of the time.
_full_date = re.compile(r"\d(?<![\d.,:/-]\d)\d{0,3}([-/.])\d{1,2}\1\d{1,4}(?!\d|[.,:/-]\d)")
_east_asian_date = re.compile(r"\d{4} ?[年년] ?\d{1,2} ?[月월](?: ?\d{1,2} ?[日일])?")

#: Attributes that differ between the addresses of one page.
_OF_ADDRESS = frozenset(("href", "content", "value", "script"))

#: Beginnings of the attributes that carry the data of a chart or a table.
_DATA = (" data-", " points=", " d=")

#: Words of attributes and scripts, and characters of scripts.
MAX_HIDDEN, MAX_SCRIPTS = 2_000, 1 << 15
#: Characters of a text that mostly tells by itself whether two pages are the same.
LONG_TEXT = 2_000
#: Links whose ids are left out.
MAX_LINKS = 500

# Of attributes that carry content, or a link; a long unquoted value is cut.  The first letter saves four fifths.
_attribute = re.compile(
    r"[ \t\n\"'](?=[cdhpstvwxyr])"
    r"((?:data-[a-z0-9-]{1,40}|style|d|points|value|title|width|height|href|content|transform|x|y|r|cx|cy))="
    r"(?:\"([^\"]{1,2000})|'([^']{1,2000})|([^ \t\n\"'>]{1,200}))",
    re.IGNORECASE,
).findall
_script = re.compile(r"<script[^<>]{0,500}>([^<]{1,32768})", re.IGNORECASE).finditer
_ids = re.compile(r"(?<![0-9a-z])(?=[a-z]{0,40}[0-9])(?=[0-9]{0,40}[a-z])[0-9a-z]{6,40}(?![0-9a-z])").findall
_runs = re.compile(r"([0-9a-z]{6,})").split
_plain_words = re.compile(r"[^\W_]+").findall


class PageText(NamedTuple):
    """What a page shows."""

    title: str | None = None
    #: Its elements, separated by ``SEPARATOR``.
    text: str = ""
    #: Addresses and texts of embedded files.
    media: Iterable[str] = ()
    #: Its HTML, which has more: ``hidden_parts``.
    markup: str = ""


class PageAddresses(NamedTuple):
    """The addresses that a page links to."""

    #: Those of its own kind; and whether they differ in names, not only in numbers.
    neighbours: Sequence[str] = ()
    are_named: bool = False
    #: Those of other kinds.
    others: Sequence[str] = ()


NO_ADDRESSES = PageAddresses()


def shown_hash(url: str, page: PageText, links: Iterable[str | None] = ()) -> int:
    """A hash of what the page at ``url`` shows, and of its attributes, but for links and the ids in them. O(length).

    Two addresses of one page, with different ids of a visit, give the same.  ``links``: those of the page.  Of a page
    of ``LONG_TEXT`` characters only the ``_DATA`` attributes count: reading the others costs as much as all else.
    """
    is_long = len(page.text) >= LONG_TEXT
    hidden = [("data-", value) for value in _data(page.markup)] if is_long else list(hidden_parts(page.markup))
    ids = {each for name, value in hidden if name == "href" for each in _ids(value.lower())}.union(_ids(_address(url)))
    ids.update(each for link in islice(links, MAX_LINKS) if link is not None for each in _ids(_address(link)))
    values = [value for name, value in hidden if name not in _OF_ADDRESS]
    shown = SEPARATOR.join((page.title or "", page.text[:MAX_TEXT], *page.media, *values)).lower()
    return _mark(_without(ids, shown, ""))


class PageContent:
    """What one page shows, in pieces: one for each element.  Read when it is asked for.

    ``explained``: words and numbers that its addresses explain.  ``ids``: those of its links.
    """

    __slots__ = ("_explained", "_files", "_hidden", "_ids", "_page", "_pieces")

    def __init__(self, page: PageText, explained: frozenset[str], ids: frozenset[str]) -> None:
        self._page = page
        self._explained = explained
        self._ids = ids
        self._pieces: list[tuple[int, list[str]]] | None = None  # hash of the piece without digits, its words
        self._files: list[tuple[int, str]] = []  # hash of the folder, what identifies the file
        self._hidden: list[tuple[int, str]] = []  # hash of the place, a word

    def head_marks(self) -> Marks | None:
        """Marks of the first ``HEAD`` characters of a longer text; None if it is not longer. O(HEAD)."""
        text = self._page.text
        if len(text) <= HEAD:
            return None
        return _least(_pairs(["", *chain.from_iterable(self._left(self._words_of(text[:HEAD])))]))

    def marks(self, noise: AbstractSet[int] = frozenset()) -> Marks:
        """Its marks, without what stands at the places in ``noise``. O(words)."""
        shown = [word for place, words in self._placed(noise) if place not in noise for word in words]
        hidden = [word for place, word in self._hidden if place not in noise]
        return _least(_pairs(["", *shown]) | self._files_marks(noise) | _pairs(["=", *hidden]))

    def pieces(self, noise: AbstractSet[int] = frozenset()) -> Marks:
        """A mark for each element with text, whatever stands beside it, and for each file. O(words)."""
        found = {_mark(" ".join(words)) for place, words in self._placed(noise) if place not in noise}
        found |= self._files_marks(noise)
        return _least(found)

    def noise(self, again: PageContent, known: AbstractSet[int] = frozenset()) -> frozenset[int]:
        """The places whose text differs when the same address is requested ``again``. O(words)."""
        noise = set(known)
        for _ in range(_MOST_IN_A_ROW):  # a place is named by what stands before it, so noise hides the next one
            mine, other = self._by_place(noise), again._by_place(noise)
            found = {place for place in mine.keys() & other.keys() if mine[place] != other[place]}
            if found <= noise:
                break
            noise |= found
        return frozenset(noise if len(noise) <= MAX_NOISE else sorted(noise)[:MAX_NOISE])

    def _files_marks(self, noise: AbstractSet[int]) -> set[int]:
        names = (name for folder, name in self._files if folder not in noise)
        return {_mark(f"{name}{n}") for name in names for n in range(MARKS_OF_A_PICTURE)}

    def _by_place(self, noise: AbstractSet[int]) -> dict[int, list[list[str]]]:
        found: dict[int, list[list[str]]] = {}
        for place, words in self._placed(noise):
            found.setdefault(place, []).append(words)
        for place, name in (*self._files, *self._hidden):
            found.setdefault(place, []).append([name])
        return found

    def _placed(self, noise: AbstractSet[int]) -> Iterator[tuple[int, list[str]]]:
        """Each piece with its place: the last piece before it that is no noise, and the pieces since."""
        if self._pieces is None:
            self._read_all()
        before = since = 0
        for shape, words in self._pieces or ():
            place = crc32(b"%d %d" % (before, since))
            yield place, words
            if place in noise:
                since += 1
            else:
                before, since = shape, 0

    def _read_all(self) -> None:
        page, explained = self._page, self._explained
        self._pieces = self._read(page.text)
        self._files = [_file(name.lower(), explained) for name, _ in zip(page.media, range(MAX_FILES), strict=False)]
        hidden = hidden_parts(page.markup)
        words = ((_mark(f"={name}"), word) for name, value in hidden for word in _plain_words(value.lower()))
        self._hidden = list(islice((each for each in words if each[1] not in explained), MAX_HIDDEN))

    def _read(self, text: str) -> list[tuple[int, list[str]]]:
        pieces = self._words_of(text)
        shapes = [_mark(" ".join(word for word in words if not word[0].isdecimal())) for words in pieces]
        return [(shape, words) for shape, words in zip(shapes, self._left(pieces), strict=True) if words]

    def _words_of(self, text: str) -> list[list[str]]:
        """The words of each piece of the page's title and ``text``."""
        data = _full_date.sub(" ", f"{self._page.title or ''}{SEPARATOR}{text}"[:MAX_TEXT].lower())
        if not data.isascii():
            data = _east_asian_date.sub(" ", data)
        data = _without(self._ids, data, " ")  # the link is judged, not the id of its page
        pieces: list[list[str]] = []
        count = 0
        for piece in data.split(SEPARATOR):
            if words := _words(piece)[: MAX_WORDS - count]:
                pieces.append(words)
                count += len(words)
                if count >= MAX_WORDS:
                    break
        return pieces

    def _left(self, pieces: list[list[str]]) -> Iterator[list[str]]:
        """What of the words of each piece is not left out; changes ``pieces``."""
        _leave_out_grids(pieces)
        return (_without_dates(words, self._explained) for words in pieces)


#: Places of noise kept, and pieces of noise in a row.
MAX_NOISE = 64
_MOST_IN_A_ROW = 16


def page_content(url: str, page: PageText, links: PageAddresses = NO_ADDRESSES) -> PageContent:
    """The content of the page at ``url``, which has these ``links``. O(links); reading it: 0.4 ms for 1,000 words."""
    own = _address(url)
    explained = frozenset(_words(own)) | _near_numbers(own)
    explain = _words if links.are_named else _digits
    for address in links.neighbours:
        explained |= frozenset(explain(_address(address)))
    ids = frozenset(each for address in (*links.neighbours, *links.others) for each in _ids(_address(address)))
    return PageContent(page, explained, ids)


def hidden_parts(html: str) -> Iterator[tuple[str, str]]:
    """What a page has besides its text: values of attributes, and of its own scripts; each with its name. O(length)."""
    for name, *values in _attribute(html[:MAX_TEXT]):
        yield name.lower(), "".join(values)
    left = MAX_SCRIPTS
    for found in _script(html[: 4 * MAX_TEXT]):
        yield "script", found[1][:left]
        left -= len(found[1])
        if left <= 0:
            return


def _data(html: str) -> Iterator[str]:
    for attribute in _DATA:
        for part in islice(html[: 4 * MAX_TEXT].split(attribute), 1, MAX_HIDDEN):
            value = part[: 2 * MAX_NAME]
            if not attribute.endswith("="):
                value = value.partition("=")[2]
            yield value[1:].partition(value[0])[0] if value[:1] in ('"', "'") else value.partition(">")[0]


def _without(ids: AbstractSet[str], text: str, instead: str) -> str:
    """The lower-case ``text`` with ``instead`` of each of the ``ids``. O(length)."""
    return "".join(instead if each in ids else each for each in _runs(text)) if ids else text


def _words(text: str) -> list[str]:
    """Its words and numbers. O(length)."""
    tokens = text.split()
    if all(map(str.isalpha, tokens)):
        return tokens
    found: list[str] = []
    for token in tokens:
        if token.isalpha():  # most are: a fifth of the time of the expression
            found.append(token)
        else:
            found += _in_token(token)
    return found


def _pairs(words: list[str]) -> set[int]:
    """Marks of neighbouring ``words``. O(words)."""
    coded = " ".join(words).encode("utf-8", "surrogatepass").split(b" ")
    return set(map(crc32, coded[1:], map(crc32, coded)))


def _mark(text: str) -> int:
    return crc32(text.encode("utf-8", "surrogatepass"))


def _least(marks: set[int]) -> Marks:
    return frozenset(marks if len(marks) <= MAX_MARKS else sorted(marks)[:MAX_MARKS])


def _address(url: str) -> str:
    return url[url.find("/", 8) :][:MAX_NAME].lower()


def _near_numbers(address: str) -> frozenset[str]:
    """The numbers of an address, and those beside them, which links to its neighbours name."""
    numbers = [int(digits) for digits in _digits(address) if len(digits) < 10]
    return frozenset(str(number + step) for number in numbers for step in (-1, 0, 1))


def _leave_out_grids(pieces: list[list[str]]) -> None:
    """Remove rows of consecutive numbers, which may begin again after the last day of a month."""
    row: list[tuple[int, int]] = []  # piece, word
    last = -1
    ends: list[tuple[int, int]] = []
    for at, words in enumerate(pieces):
        if last < 0 and not any(map(str.isdecimal, words)):
            continue  # most: a tenth of the time of the loop
        for place, word in enumerate(words):
            if len(word) > 2 or not word.isdecimal():
                if last >= 0:
                    ends += row if len(row) >= MIN_GRID else ()
                    row, last = [], -1
                continue
            number = int(word)
            if number == last + 1 or (number == 1 and last >= 28):
                row.append((at, place))
            else:
                ends += row if len(row) >= MIN_GRID else ()
                row = [(at, place)]
            last = number
    if len(row) >= MIN_GRID:
        ends += row
    for at, place in reversed(ends):
        del pieces[at][place]


def _without_dates(words: list[str], explained: AbstractSet[str]) -> list[str]:
    """``words`` without years, names of months and days, and the numbers of days beside them."""
    unique = set(words)
    has_none = unique.isdisjoint(_DATE_AND_YEARS) and unique.isdisjoint(explained)
    if has_none and (all(map(str.isascii, unique)) or not any(map(_is_year, unique))):
        return words
    kept: list[str] = []
    after_date = False
    for word in words:
        if word in DATE_WORDS or _is_year(word):
            if kept and len(kept[-1]) <= 2 and kept[-1].isdecimal():
                kept.pop()  # the 17 of "17 May"
            after_date = True
            continue
        if not (after_date and len(word) <= 2 and word.isdecimal()) and word not in explained:
            kept.append(word)
        after_date = False
    return kept


def _is_year(word: str) -> bool:
    return len(word) == 4 and word.isdecimal() and int(word) in _YEARS


def _file(name: str, explained: AbstractSet[str]) -> tuple[int, str]:
    """An embedded file: its folder and name, without the query of a picture; of a text, what its address leaves."""
    name = name[:MAX_NAME].partition("#")[0].strip()
    if "/" not in name and "." not in name:
        return 0, " ".join(word for word in _words(name) if word not in explained)
    path, _, query = name.partition("?")
    folder = crc32(b"/" + _no_digits.sub("", path.rpartition("/")[0]).encode("utf-8", "surrogatepass"))
    return folder, path if _picture(path) or not query else f"{path}?{query}"


_picture = re.compile(r"\.(?:jpe?g|png|gif|webp|svg|bmp|avif)\Z", re.IGNORECASE).search
