"""Charsets as browsers read them (the Encoding Standard), where Python's codecs and w3lib differ and pages suffer.

Importing this module registers codecs: the labels that Python does not know, and two Japanese ones.
"""

from __future__ import annotations

import codecs
import re
from functools import cache, lru_cache
from typing import TYPE_CHECKING

from w3lib.encoding import resolve_encoding

if TYPE_CHECKING:
    from typing_extensions import Buffer

#: Python's codec -> labels of the standard that Python does not know, as ``codecs`` passes them on.
_LABELS = {
    "big5": "cn_big5 x_x_big5",
    "cp874": "dos_874",
    "cp949": "cseuckr csksc56011987 iso_ir_149 ks_c_5601_1989 ksc_5601 windows_949",
    "euc_jp": "cseucpkdfmtjapanese x_euc_jp",
    "gb18030": "csgb2312 gb_2312 x_gbk",
    "iso8859_6": "csiso88596e csiso88596i",
    "iso8859_7": "sun_eu_greek",
    "iso8859_8": "csiso88598e csiso88598i logical visual",
    "iso8859_15": "csisolatin9",
    "koi8_r": "koi koi8",
    "koi8_u": "koi8_ru",
    "mac_cyrillic": "x_mac_cyrillic x_mac_ukrainian",
    "mac_roman": "csmacintosh mac x_mac_roman",
    "utf_8": "unicode_1_1_utf_8 unicode11utf8 unicode20utf8 x_unicode20utf8",
    "utf_16_be": "unicodefffe",
    "utf_16_le": "csunicode iso_10646_ucs_2 ucs_2 unicode unicodefeff",
}
_CODECS = {label: name for name, labels in _LABELS.items() for label in labels.split()}
_iso_8859 = re.compile("(?:iso_?)?8859_?([0-9]{1,2})(?:_[ei])?").fullmatch
_windows = re.compile("x_(cp125[0-8])").fullmatch
#: ISO 8859 -> the supersets that browsers use.
_SUPERSETS = {"iso8859_1": "cp1252", "iso8859_9": "cp1254", "iso8859_11": "cp874"}

#: Python's Japanese codecs -> those registered here, which know the characters of NEC and IBM: ①, ㈱, Ⅲ.
_JAPANESE = {"euc_jp": "cp51932", "iso2022_jp": "cp50221"}
#: The codecs, as w3lib names them, of all encodings of the standard; it knows no others, such as UTF-32 or UTF-7.
_KNOWN = frozenset(
    (
        *(f"cp{number}" for number in (866, 874, 932, 949, *range(1250, 1259))),
        *(f"iso8859-{number}" for number in (*range(2, 9), 10, *range(13, 17))),
        *("big5", "big5hkscs", "gb18030", "gbk", "koi8-r", "koi8-u", "mac-cyrillic", "mac-roman", "utf-8"),
        *("utf-16-be", "utf-16-le", *_JAPANESE.values()),
    )
)
#: Declared in markup that can be read byte by byte, they are wrong: the standard reads such a page as UTF-8.
_WIDE = ("utf-16", "utf-32")
#: Rows of JIS X 0208 that NEC and IBM filled: numerals in circles, Roman ones, units, rare kanji of names.
_ROWS = (13, 89, 90, 91, 92)
#: Six characters that Microsoft, and so browsers, map differently.
_TO_MICROSOFT = str.maketrans("〜‖−¢£¬", "～∥－￠￡￢")
_FROM_MICROSOFT = str.maketrans("～∥－￠￡￢", "〜‖−¢£¬")


@lru_cache(maxsize=256)
def of_header(label: str) -> str | None:
    """The codec that reads pages whose header declares *label*; None if browsers do not know it, and ignore it.

    >>> of_header("utf-16"), of_header("utf-32")
    ('utf-16-le', None)
    """
    codec = resolve_encoding(label) if label else None
    return "utf-16-le" if codec == "utf-16" else _known(codec)


def of_markup(codec: str | None) -> str | None:
    """The codec that reads pages that declare *codec*, one of Python's, themselves; None as for ``of_header``."""
    return "utf-8" if codec is not None and codec.startswith(_WIDE) else _known(codec)


def _known(codec: str | None) -> str | None:
    codec = _JAPANESE.get(codec or "", codec)
    return codec if codec in _KNOWN else None


def _search(label: str) -> codecs.CodecInfo | None:
    name = _CODECS.get(label)
    if match := _iso_8859(label):
        name = _SUPERSETS.get(f"iso8859_{int(match[1])}", f"iso8859_{int(match[1])}")
    elif match := _windows(label):
        name = match[1]
    if name is not None:
        return None if name == label else codecs.lookup(name)
    return next((_japanese(python, ours) for python, ours in _JAPANESE.items() if label == ours), None)


def _japanese(python: str, name: str) -> codecs.CodecInfo:
    """Python's codec, and the characters of NEC and IBM, which it takes for errors that garble what follows."""
    high = 0x80 if python == "iso2022_jp" else 0
    make = codecs.getincrementaldecoder(python)

    class Decoder(codecs.IncrementalDecoder):
        def __init__(self, errors: str = "strict") -> None:
            super().__init__(errors)
            self._decoder = make(_with_pairs(errors, high))

        def decode(self, data: bytes, final: bool = False) -> str:  # type: ignore[override]
            return self._decoder.decode(data, final).translate(_TO_MICROSOFT)

        def reset(self) -> None:
            self._decoder.reset()

    def decode(data: Buffer, errors: str = "strict") -> tuple[str, int]:
        content = bytes(data)
        return Decoder(errors).decode(content, final=True), len(content)

    def encode(text: str, errors: str = "strict") -> tuple[bytes, int]:
        plain = text.translate(_FROM_MICROSOFT)
        if high:
            return plain.encode(python, errors), len(text)
        rare = {each: pair for pair, each in _pairs().items() if len(each.encode(python, "ignore")) != 2}
        return b"".join(rare.get(each) or each.encode(python, errors) for each in plain), len(text)

    return codecs.CodecInfo(encode, decode, incrementaldecoder=Decoder, name=name)


@cache
def _with_pairs(errors: str, high: int) -> str:
    """The name of an error handler that knows the characters of NEC and IBM, and leaves the rest to *errors*."""
    name, otherwise, pairs = f"crawlproject.pairs.{high}.{errors}", codecs.lookup_error(errors), _pairs()

    def handle(error: UnicodeError) -> tuple[str | bytes, int]:
        if isinstance(error, UnicodeDecodeError):
            pair = error.object[error.start : error.start + 2]
            character = pairs.get(bytes(byte | high for byte in pair) if high else pair)
            if character is not None:
                return character, error.start + 2
        return otherwise(error)

    codecs.register_error(name, handle)
    return name


@cache
def _pairs() -> dict[bytes, str]:
    """The characters of NEC and IBM by their bytes in EUC-JP, found by way of Shift_JIS."""
    found = {}
    for row in _ROWS:
        first = (row - 1) // 2 + (0x81 if row < 63 else 0xC1)
        for cell in range(94):
            second = cell + 0x40 + (cell >= 63) if row % 2 else cell + 0x9F
            if character := bytes((first, second)).decode("cp932", "ignore"):
                found[bytes((row + 0xA0, cell + 0xA1))] = character
    return found


codecs.register(_search)
