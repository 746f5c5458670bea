"""The rule files in docs/rules, for the documentation sites of ``real_web`` and for small saved pages of them."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[1]
RULES = ROOT / "docs" / "rules"
SAMPLES = ROOT / "tests" / "data" / "rules"


class Site(NamedTuple):
    """A rule file, and the Debian package that has its pages."""

    name: str
    package: str
    #: Of the pages, below the root of the web.
    folder: str
    #: Where the pages are found in tests.
    url: str


SITES = (
    Site("python", "python3.11-doc", "usr/share/doc/python3.11/html", "http://python.example/doc/"),
    Site("postgresql", "postgresql-doc-15", "usr/share/doc/postgresql-doc-15/html", "http://postgresql.example/doc/"),
    Site("git", "git-doc", "usr/share/doc/git-doc", "http://git.example/doc/"),
)

_seeds = re.compile(r'^seeds = \["(https?://[^"]*/)([^"/]*)"\]', re.MULTILINE)


def localized(file: Path, url: str) -> str:
    """The text of a rule file with its seed at another place: ``url`` instead of the folder of the seed."""
    text, count = _seeds.subn(lambda match: f'seeds = ["{url}{match[2]}"]', file.read_text(encoding="utf-8"))
    if count != 1:
        raise ValueError(f"{file}: no single seed in its first lines")
    return text


def pages_of(site: Site, web: Path | None = None) -> Iterator[tuple[str, bytes]]:
    """URL and body of each HTML page: of the package unpacked in ``web``, else of the saved sample."""
    folder = SAMPLES / site.name if web is None else web / "root" / site.folder
    for path in sorted(folder.rglob("*.html")):
        if path.is_file():
            yield site.url + quote(os.fspath(path.relative_to(folder))), path.read_bytes()
