"""Reads rule files (TOML, docs/spiders.md). A wrong file is refused in one line that names file and key."""

from __future__ import annotations

import re
import tomllib
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawlproject.download.rendering.steps import wish
from crawlproject.records.fields import field_rules, key_of, name_of, table_at, whole_selector
from crawlproject.records.rules import RecordRule, RuleSet, SiteRules, domain_of
from crawlproject.records.table import RuleError, Table, dotted
from crawlproject.urls import LinkFilter, UrlPatterns, resolve
from crawlproject.urls.server_key import server_name

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Bytes of a file, and files of a folder.
MAX_FILE, MAX_FILES = 1 << 20, 10_000

_is_name = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}").fullmatch


def read_rules(path: str | Path) -> RuleSet:
    """The rules in a file, or in all files ``*.toml`` of a folder.

    Raises ValueError in one line: ``FILE: KEY: REASON``.
    """
    sites: _Sites = _Sites()
    for file in _files(Path(path)):
        sites.add(read_site(_text(file), file))
    return RuleSet(sites.all)


def read_rules_again(path: str | Path, rules: RuleSet) -> tuple[RuleSet, list[str]]:
    """The rules as they are now, and what is wrong with files that are left as they were in ``rules``."""
    before = {site.file: site for site in rules.sites}
    sites, wrong = _Sites(), []
    try:
        files = _files(Path(path))
    except ValueError as error:
        return rules, [str(error)]
    for file in files:
        try:
            text, old = _text(file), before.get(file)
            sites.add(old if old is not None and old.version == hash(text) else read_site(text, file))
        except ValueError as error:
            wrong.append(str(error))
            if file in before:
                with suppress(ValueError):  # another file has its domain now
                    sites.add(before[file])
    return RuleSet(sites.all), wrong


class _Sites:
    """Sites, no two of them with one name or domain."""

    def __init__(self) -> None:
        self.all: list[SiteRules] = []
        self._files: dict[tuple[str, str], Path | None] = {}

    def add(self, site: SiteRules) -> None:
        """Raises ValueError, and changes nothing, if another one has its name or a domain."""
        keys = [*(("domains", domain) for domain in site.domains), ("name", site.name)]
        for key, value in keys:
            if (key, value) in self._files:
                raise ValueError(f"{site.file}: {key}: {value} is in {self._files[key, value]}, too")
        self._files.update(dict.fromkeys(keys, site.file))
        self.all.append(site)


def _files(path: Path) -> list[Path]:
    try:
        files = sorted(path.glob("*.toml")) if path.is_dir() else [path]
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from error
    if not files or len(files) > MAX_FILES:
        raise ValueError(f"{path}: {len(files)} files *.toml in this folder; must be 1 to {MAX_FILES}")
    return files


def read_site(text: str, file: Path) -> SiteRules:
    """The rules in the text of a file. Raises ValueError."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ValueError(f"{file}: {error}") from error
    except RecursionError as error:
        raise ValueError(f"{file}: too many lists within each other") from error
    try:
        return replace(_site(Table(data), file.stem), file=file, version=hash(text))
    except RuleError as error:
        raise ValueError(f"{file}: {error}") from error


def _text(file: Path) -> str:
    try:
        if file.stat().st_size > MAX_FILE:
            raise ValueError(f"{file}: more than {MAX_FILE} bytes")
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"{file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        line = file.read_bytes()[: error.start].count(b"\n") + 1
        raise ValueError(f"{file}, line {line}: not UTF-8") from error


def _site(table: Table, stem: str) -> SiteRules:
    table.only("name", "seeds", "domains", "follow", "pagination", "records", "render")
    name = table.take("name", str, stem)
    if not _is_name(name):
        raise table.wrong("name", f"{name!r:.80}: letters, digits, '_', '.' and '-', at most 100")
    seeds = tuple(_seeds(table))
    domains = tuple(_domains(table, seeds))
    follow = table.table("follow")
    allow, deny = _patterns(follow, "allow"), _patterns(follow, "deny")
    follow.end()
    next_pages = whole_selector(table_at(table, "pagination")) if table.has("pagination") else None
    render = _render(table)
    records = tuple(_records(table.table("records")))
    site = SiteRules(name, seeds, domains, records, allow, deny, next_pages, render)
    outside = next((seed for seed in seeds if RuleSet((site,)).of(seed) is None), None)
    if outside is not None:
        raise table.wrong("seeds", f"{outside!r:.80} is in none of the domains: {', '.join(domains):.80}")
    return site


def _render(table: Table) -> Any:
    value = table.any("render")
    try:
        wish(value)
    except ValueError as error:
        raise table.wrong("render", str(error).removeprefix("render: ").removeprefix("render=")) from error
    return value


def _seeds(table: Table) -> Iterator[str]:
    seeds = table.texts("seeds")
    if not seeds:
        raise table.wrong("seeds", "missing: at least one URL, above the first [table]")
    for seed in seeds:
        url = resolve(seed) if seed.startswith(("http://", "https://")) else None
        if url is None:
            raise table.wrong("seeds", f"not an http or https URL: {seed!r:.80}")
        yield url


def _domains(table: Table, seeds: tuple[str, ...]) -> Iterator[str]:
    given = table.texts("domains")
    try:
        LinkFilter(allowed=frozenset(given))
    except ValueError as error:
        raise table.wrong("domains", str(error)) from error
    yield from dict.fromkeys(map(server_name, given or map(domain_of, seeds)))


def _patterns(table: Table, key: str) -> UrlPatterns:
    try:
        return UrlPatterns(table.texts(key))
    except ValueError as error:
        raise table.wrong(key, str(error)) from error


def _records(records: Table) -> Iterator[RecordRule]:
    if not records.keys():
        raise RuleError(records.path, "missing: at least one table [records.NAME.fields]")
    for name in records.keys():  # noqa: SIM118 - it is no dict
        path = (*records.path, name)
        if not isinstance(records.any(name), dict):
            reason = f"must be a table [records.NAME], with its [records.NAME.fields], not {records.any(name)!r:.80}"
            raise RuleError(path, reason)
        table = records.table(name_of(name, path))
        table.only("pages", "rows", "key", "fields", hint=f"; fields are in [{dotted(path)}.fields]")
        rows = whole_selector(table_at(table, "rows")) if table.has("rows") else None
        fields = field_rules(table.table("fields"))
        rule = RecordRule(name, fields, key_of(table, fields), rows, _patterns(table, "pages"))
        yield rule
