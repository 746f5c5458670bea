"""Types of fields: text, number, date, URL, boolean. Converts what a selector found, or says why it cannot."""

from __future__ import annotations

import time
import unicodedata
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import re2

from crawlproject.options.extras import needs_extra
from crawlproject.records.selectors import MAX_TEXT, text_of
from crawlproject.urls import resolve

if TYPE_CHECKING:
    from collections.abc import Callable

#: Types of fields, of which docs/spiders.md says what they give.
TYPES = ("text", "raw", "number", "date", "datetime", "url", "boolean", "any")

#: Characters of a text that is read as a number or a date.
MAX_SHORT = 200

#: Languages that write "1.234,56", or "1 234,56"; all others write "1,234.56" (Unicode CLDR).
COMMA_LANGUAGES = frozenset(
    (
        *("af", "az", "be", "bg", "bs", "ca", "cs", "da", "de", "el", "es", "et", "eu", "fi", "fo", "fr", "gl", "hr"),
        *("hu", "hy", "id", "is", "it", "ka", "kk", "ky", "lt", "lv", "mk", "mn", "nb", "nl", "nn", "no", "pl", "pt"),
        *("ro", "ru", "sk", "sl", "sq", "sr", "sv", "tr", "uk", "uz", "vi"),
    )
)
#: Regions that differ from their language.
POINT_REGIONS = frozenset(
    (
        *("de-ch", "de-li", "it-ch", "es-br", "es-bz", "es-cu", "es-do", "es-gt", "es-hn", "es-mx", "es-ni", "es-pa"),
        *("es-pe", "es-pr", "es-sv", "es-us"),
    )
)

# Digits with separators between them; a space only before three digits.  Then an exponent.
_digits = re2.compile(r"(?:\d+(?:[.,'’٬٫]\d+|\s\d\d\d\b)*|[.,]\d+)(?:[eE][-+]?\d{1,3}\b)?")
#: Before the digits: a sign that is no hyphen, perhaps with a currency between.
_minus = re2.compile(r"(?:^|[\s(:])[-−][^\w]{0,3}$|^[-−][A-Z]{0,3}\s?$")
_separators = re2.compile(r"['’٬\s]")
_TRUE = frozenset(("1", "on", "true", "y", "yes"))
_FALSE = frozenset(("", "0", "false", "n", "no", "off"))


def converter(
    kind: str, locale: str | None = None, date_format: str | None = None, true: Any = None
) -> Callable[[Any, str], Any]:
    """The function that makes a value of type ``kind`` from a match and the page's base URL.

    ``locale``: language, optionally with a region: ``de``, ``de-CH``.  ``date_format``: as of ``datetime.strptime``.
    ``true``: RE2 expression; a boolean is True where it matches.

    It raises ValueError for a match that is not one.  An empty text is None: nothing was found.
    """

    def moment(text: str) -> datetime:
        return _moment(text, date_format, locale, int(time.time() // 60))

    converters: dict[str, Callable[[Any, str], Any]] = {
        "text": lambda found, _base: _plain(" ".join(text_of(found)[:MAX_TEXT].split())) or None,
        "raw": lambda found, _base: _plain(text_of(found)[:MAX_TEXT]) or None,
        "number": lambda found, _base: _or_none(found, lambda text: number(text, locale)),
        "date": lambda found, _base: _or_none(found, lambda text: moment(text).date()),
        "datetime": lambda found, _base: _or_none(found, moment),
        "url": _url,
        "boolean": lambda found, _base: _boolean(found, true),
        "any": _any,
    }
    return converters[kind]


def _plain(text: str) -> str:
    """``text`` without NUL and without halves of surrogate pairs, which no database takes. O(length)."""
    if "\0" in text:
        text = text.replace("\0", "")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _or_none(found: Any, convert: Callable[[str], Any]) -> Any:
    text = text_of(found).strip()
    return convert(text[:MAX_SHORT]) if text else None


def _any(found: Any, _base: str) -> Any:
    if isinstance(found, str):
        return _plain(found[:MAX_TEXT].strip()) or None
    return found if isinstance(found, (bool, int, float, dict, list)) else _plain(text_of(found).strip()) or None


def _url(found: Any, base: str) -> str | None:
    text = text_of(found).strip()[:MAX_TEXT]
    if not text:
        return None
    url = resolve(text, base)
    if url is None:
        raise ValueError(f"not a URL: {text:.80}")
    return url


def _boolean(found: Any, true: Any) -> bool:
    if isinstance(found, bool):
        return found
    text = " ".join(text_of(found)[:MAX_TEXT].split())
    if true is not None:
        return true.search(text) is not None
    if text.casefold() in _TRUE:
        return True
    if text.casefold() in _FALSE:
        return False
    raise ValueError(f"neither true nor false: {text:.80}")


def number(text: str, locale: str | None = None) -> int | float:
    """The first number in ``text``; a whole number is an int. Raises ValueError if there is none.

    Without a locale, the last separator is the decimal one, unless it occurs again or is a comma before three digits.
    """
    text = "".join(str(unicodedata.decimal(char, char)) for char in unicodedata.normalize("NFKC", text[:MAX_SHORT]))
    match = _digits.search(text)
    if match is None:
        raise ValueError(f"not a number: {text:.80}")
    digits, _, exponent = match[0].lower().partition("e")
    digits = _separators.sub("", digits).replace("٫", ",")
    decimal = _decimal_sign(digits, locale)
    if digits.count(decimal) > 1:
        raise ValueError(f"not a number: {text:.80}")
    cleaned = digits.replace("." if decimal == "," else ",", "").replace(decimal, ".")
    sign = "-" if _minus.search(text[: match.start()]) else ""
    if "." in cleaned or exponent:
        return float(f"{sign}{cleaned}{exponent and f'e{exponent}'}")
    return int(f"{sign}{cleaned}")


def _decimal_sign(digits: str, locale: str | None) -> str:
    if locale is not None:
        region = locale.replace("_", "-").lower()
        return "," if region.partition("-")[0] in COMMA_LANGUAGES and region not in POINT_REGIONS else "."
    comma, point = digits.rfind(","), digits.rfind(".")
    if comma < 0 or (point > comma and digits.count(".") == 1):
        return "," if digits.count(".") > 1 else "."
    if point >= 0:
        return ","
    return "." if digits.count(",") > 1 or len(digits) - comma == 4 else ","


def _dateparser_locale(locale: str | None) -> dict[str, list[str]]:
    """Arguments for dateparser: the region decides whether 4/3 is in March or in April."""
    from dateparser.data.languages_info import language_locale_dict

    if locale is None:
        return {}
    language, _, region = locale.replace("_", "-").partition("-")
    full = f"{language.lower()}-{region.upper()}"
    known = full in language_locale_dict.get(language.lower(), ())
    return {"locales": [full]} if known else {"languages": [language.lower()]}


@lru_cache(maxsize=4096)
def _moment(text: str, date_format: str | None, locale: str | None, _minute: int) -> datetime:
    """Date and time by ``date_format``; without one by ISO 8601, then dateparser. Raises ValueError.

    ``_minute``: the present one, part of the cache's key. "2 hours ago" means something else later.
    """
    if date_format is not None:
        return datetime.strptime(text, date_format)
    with suppress(ValueError):
        return datetime.fromisoformat(text)
    with needs_extra("a date without a format", "records"):
        import dateparser
    try:
        found = dateparser.parse(text, **_dateparser_locale(locale))
    except Exception as error:
        raise ValueError(f"not a date: {text:.80}") from error
    if not isinstance(found, datetime):
        raise ValueError(f"not a date: {text:.80}")
    return found
