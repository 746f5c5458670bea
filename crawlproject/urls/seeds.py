"""Reads seed lists: a URL per line, optionally followed by white space and its quality; ``#`` starts a comment line."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crawlproject.urls.canonical import Canonicalizer

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_user = re.compile(r"[^:/\\?#]*+:[/\\]*+[^/\\?#@]*+@").match
_scheme = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?![0-9])").match  # "localhost:8080" is a host and its port


@dataclass(frozen=True, slots=True)
class Seed:
    """A start URL in canonical form, and its quality, if given; ``had_user``: without the user name that it had."""

    line: int
    url: str
    quality: float | None = None
    had_user: bool = False


@dataclass(frozen=True, slots=True)
class BadSeed:
    """An invalid line: its number (from 1), its text and the reason."""

    line: int
    text: str
    reason: str


def read_seeds(lines: Iterable[str]) -> Iterator[Seed | BadSeed]:
    """Parse each line except blank lines and comments.  Never raises; invalid lines become BadSeed.

    A URL without a scheme gets http://, which servers answer at least with a redirect to https.  A byte order mark and
    line ends are ignored.  Lazy; O(length).

    >>> list(read_seeds(["# seeds", "example.org/a\\t0.5"]))
    [Seed(line=2, url='http://example.org/a', quality=0.5, had_user=False)]
    """
    canonicalizer = Canonicalizer()
    for number, line in enumerate(lines, start=1):
        text = line.lstrip("\ufeff").strip()
        if text and not text.startswith("#"):
            yield _read(number, text, canonicalizer)


def _read(number: int, text: str, canonicalizer: Canonicalizer) -> Seed | BadSeed:
    written, *more = text.split()
    if len(more) > 1:
        return BadSeed(number, text, "more than a URL and its quality")
    if _scheme(written) is None:
        written = f"http:{written}" if written.startswith("//") else f"http://{written}"
    url = canonicalizer.canonical(written)
    if url is None:
        return BadSeed(number, text, "not an http or https URL")
    quality = _quality(more[0]) if more else None
    if more and quality is None:
        return BadSeed(number, text, "the quality is not a number of at least 0")
    return Seed(number, url, quality, _user(written) is not None)


def _quality(text: str) -> float | None:
    try:
        quality = float(text)
    except ValueError:
        return None
    return quality if math.isfinite(quality) and quality >= 0 else None
