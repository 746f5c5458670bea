"""Charsets as browsers read them (the Encoding Standard), where Python's codecs and w3lib differ and pages suffer.

Importing this module registers a search for codecs: the labels of the standard that Python does not know.
"""

from __future__ import annotations

import codecs
from encodings import normalize_encoding
from functools import lru_cache

import webencodings
from w3lib.encoding import DEFAULT_ENCODING_TRANSLATION, resolve_encoding
from webencodings.labels import LABELS

#: Labels of the standard, as ``codecs`` passes them on -> Python's codecs; first those that webencodings does not know.
_CODECS = {
    **dict.fromkeys(("unicode11utf8", "unicode20utf8", "x_unicode20utf8"), "utf-8"),
    "unicodefffe": "utf-16-be",
    **dict.fromkeys(("csunicode", "iso_10646_ucs_2", "ucs_2", "unicode", "unicodefeff"), "utf-16-le"),
} | {
    normalize_encoding(label): DEFAULT_ENCODING_TRANSLATION.get(name, name)
    for label, name in ((label, webencodings.lookup(label).codec_info.name) for label in LABELS)
    if name not in ("replacement", "x-user-defined")
}

#: It also has most characters that NEC and IBM added to EUC-JP, and browsers show: numerals in circles, units, ㈱.
_EUC_JP = "euc_jis_2004"
#: The codecs, as w3lib names them, of all encodings of the standard; it knows no others, such as UTF-32 or UTF-7.
_KNOWN = frozenset(
    (
        *(f"cp{number}" for number in (866, 874, 932, 949, *range(1250, 1259))),
        *(f"iso8859-{number}" for number in (*range(2, 9), 10, *range(13, 17))),
        *("big5", "big5hkscs", "gb18030", "gbk", "koi8-r", "koi8-u", "mac-cyrillic", "mac-roman", "utf-8"),
        *("utf-16-be", "utf-16-le", "iso2022_jp", _EUC_JP),
    )
)
#: Declared in markup that can be read byte by byte, they are wrong: the standard reads such a page as UTF-8.
_WIDE = ("utf-16", "utf-32")


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
    codec = _EUC_JP if codec == "euc_jp" else codec
    return codec if codec in _KNOWN else None


def _search(label: str) -> codecs.CodecInfo | None:
    name = _CODECS.get(label)
    return None if name is None or normalize_encoding(name) == label else codecs.lookup(name)


codecs.register(_search)
