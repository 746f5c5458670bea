"""Charsets as browsers read them (the Encoding Standard), where Python's codecs and w3lib differ and pages suffer.

Importing this module registers codecs: the labels that Python does not know, and two Japanese ones.
"""

from __future__ import annotations

import codecs
from encodings import normalize_encoding
from functools import cache, lru_cache
from typing import TYPE_CHECKING

import webencodings
from w3lib.encoding import DEFAULT_ENCODING_TRANSLATION, resolve_encoding
from webencodings.labels import LABELS

if TYPE_CHECKING:
    from typing_extensions import Buffer

#: Labels of the standard that webencodings does not know yet -> Python's codecs.
_NEWER = {
    **dict.fromkeys(("unicode11utf8", "unicode20utf8", "x_unicode20utf8"), "utf-8"),
    "unicodefffe": "utf-16-be",
    **dict.fromkeys(("csunicode", "iso_10646_ucs_2", "ucs_2", "unicode", "unicodefeff"), "utf-16-le"),
}
#: Labels of the standard, as ``codecs`` passes them on -> Python's codecs.
_CODECS = _NEWER | {
    normalize_encoding(label): DEFAULT_ENCODING_TRANSLATION.get(name, name)
    for label, name in ((label, webencodings.lookup(label).codec_info.name) for label in LABELS)
    if name not in ("replacement", "x-user-defined")
}

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
    if name is not None:
        return None if normalize_encoding(name) == label else codecs.lookup(name)
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
