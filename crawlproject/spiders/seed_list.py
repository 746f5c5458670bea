"""Resolves the argument ``-a seeds=...`` into lines for ``read_seeds``."""

from __future__ import annotations

import io
import re
import sys
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING

from crawlproject.urls import BadSeed, host_of, read_seeds, server_key
from crawlproject.urls.server_key import has_public_suffix

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

#: Top-level domains for tests and documentation (RFC 2606, RFC 6761), which are not in the public suffix list.
_RESERVED = frozenset(("example", "invalid", "localhost", "test"))

_WHAT = "a URL begins with http:// or https://"

_is_path = re.compile(r"[./~\\]").match


class SeedFile:
    """The lines of a file. Each iteration reads the file again, because a list of two million lines takes 250 MB.

    What cannot be read twice, such as a pipe, is kept in memory.  Raises OSError.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._data = None if path.is_file() else path.read_bytes()

    def __iter__(self) -> Iterator[str]:
        source = self._path.open("rb") if self._data is None else io.BytesIO(self._data)
        with io.TextIOWrapper(source, encoding="utf-8", errors="replace") as text:
            for line in text:
                yield from line.splitlines()


def seed_lines(seeds: str) -> Iterable[str]:
    """The lines of a file or of standard input (``-``), or comma-separated URLs. O(length).

    An entry with a scheme is a URL; an existing path is a file; anything else must be
    an IP address or a host that ends in a public suffix, optionally with port and path (``example.org/docs``).  Raises
    ValueError otherwise, and for a file that cannot be read or contains no URL.
    """
    if not seeds.strip():
        raise ValueError(f"seeds={seeds!r}: must be URLs separated by commas, a file, or - for standard input")
    if seeds == "-":
        return _with_urls(seeds, sys.stdin.read().splitlines())
    if "://" not in seeds and _exists(seeds):
        try:
            return _with_urls(seeds, SeedFile(Path(seeds)))
        except OSError as error:
            raise ValueError(f"seeds={seeds!r}: {error.strerror}") from error
    entries = [entry for written in seeds.split(",") if (entry := written.strip())]
    for entry in entries:
        if "://" not in entry and not is_host(entry):
            what = "" if entry == seeds else f"{entry!r}: "
            raise ValueError(f"seeds={seeds!r:.200}: {what}no such file; {_WHAT}")
    return _with_urls(seeds, entries)


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # path too long, or contains NUL
        return False


def _with_urls(seeds: str, lines: Iterable[str]) -> Iterable[str]:
    """``lines``; raises ValueError if they contain no URL."""
    bad = None
    for seed in read_seeds(lines):
        if not isinstance(seed, BadSeed):
            return lines
        bad = bad or seed
    reason = "" if bad is None else f" (line {bad.line}, {bad.text!r:.80}: {bad.reason})"
    raise ValueError(f"seeds={seeds!r:.200}: there is no URL in it{reason}")


def is_host(entry: str) -> bool:
    """Whether an entry without a scheme is a host, optionally with port and path."""
    entry = entry.removeprefix("//")
    if _is_path(entry):
        return False
    try:
        host = host_of(server_key(f"http://{entry}"))
    except ValueError:
        return False
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return host.rpartition(".")[2] in _RESERVED or has_public_suffix(host)
    return True
