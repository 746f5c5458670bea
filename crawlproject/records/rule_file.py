"""Reads rule files (TOML, docs/spiders.md). A wrong file is refused in one line that names file and key."""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from crawlproject.download.rendering.steps import wish
from crawlproject.records.rules import FieldRule, RecordRule, RuleSet, SiteRules, domain_of
from crawlproject.records.selectors import LINEAR, Selector, cost_of, css, json_path, xpath
from crawlproject.records.values import TYPES, converter
from crawlproject.urls import LinkFilter, UrlPatterns, resolve
from crawlproject.urls.server_key import server_name
from crawlproject.urls.wildcards import regular_expression

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: Names that records and their tables use themselves.
RESERVED = frozenset(("record", "site", "record_key", "first_seen", "last_seen", "changed", "digest"))

_is_name = re.compile(r"[a-z][a-z0-9_]{0,59}").fullmatch
_is_locale = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z]{2,4})?").fullmatch

#: Steps of a selector and how each is compiled.
_STEPS: dict[str, Callable[[str], Any]] = {"css": css, "xpath": xpath, "json": json_path, "regex": regular_expression}


def read_rules(path: str | Path) -> RuleSet:
    """The rules in a file, or in all files ``*.toml`` of a folder.

    Raises ValueError in one line: ``FILE: KEY: REASON``.
    """
    return RuleSet(read_site(_text(file), file) for file in _files(Path(path)))


def read_rules_again(path: str | Path, rules: RuleSet) -> tuple[RuleSet, list[str]]:
    """The rules as they are now, and what is wrong with files that are left as they were in ``rules``."""
    before = {site.file: site for site in rules.sites}
    sites, wrong = [], []
    try:
        for file in _files(Path(path)):
            old = before.get(file)
            try:
                text = _text(file)
                sites.append(old if old is not None and old.version == hash(text) else read_site(text, file))
            except ValueError as error:
                wrong.append(str(error))
                if old is not None:
                    sites.append(old)
        return RuleSet(sites), wrong
    except ValueError as error:  # the folder, or two files with one domain
        return rules, [*wrong, str(error)]


def _files(path: Path) -> list[Path]:
    files = sorted(path.glob("*.toml")) if path.is_dir() else [path]
    if not files:
        raise ValueError(f"{path}: no files *.toml in this folder")
    return files


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"{file}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{file}: not UTF-8: {error}") from error


def read_site(text: str, file: Path) -> SiteRules:
    """The rules in the text of a file. Raises ValueError."""
    try:
        return replace(_site(_Table(tomllib.loads(text)), file.stem), file=file, version=hash(text))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file}: {error}") from error


class _Table:
    """A table of the file, read key by key; ``end`` refuses the keys that were not read. Methods raise ValueError."""

    def __init__(self, data: Any, path: str = "") -> None:
        self.path = path
        if not isinstance(data, dict):
            raise ValueError(f"{path}: must be a table, not {data!r:.80}")
        self._data: dict[str, Any] = data
        self._taken: list[str] = []

    def __contains__(self, key: str) -> bool:
        return key in self._data

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def wrong(self, key: str, reason: object) -> ValueError:
        """The error to raise for the value of a key."""
        return ValueError(f"{self.below(key)}: {reason}")

    def below(self, key: str) -> str:
        """``records.book.fields.price``."""
        return f"{self.path}.{key}" if self.path else key

    def take(self, key: str, kind: type = object, default: Any = None) -> Any:
        """The value of a key, of one type."""
        self._taken.append(key)
        value = self._data.get(key, default)
        if value is not None and not isinstance(value, kind):
            raise self.wrong(key, f"must be {'true or false' if kind is bool else 'a text'}, not {value!r:.80}")
        return value

    def texts(self, key: str) -> list[str]:
        """A list of texts, or one text."""
        value = self.take(key, default=[])
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list) or not all(isinstance(one, str) and one for one in values):
            raise self.wrong(key, f"must be a list of texts, not {value!r:.80}")
        return values

    def table(self, key: str) -> _Table:
        """The table below a key; empty if it is not given."""
        return _Table(self.take(key, default={}), self.below(key))

    def selector_table(self, key: str) -> _Table:
        """The table of a selector; a text stands for its ``css``."""
        written = self.take(key)
        if not isinstance(written, (str, dict)):
            raise self.wrong(key, f"must be a CSS selector or a table, not {written!r:.80}")
        return _Table({"css": written} if isinstance(written, str) else written, self.below(key))

    def end(self) -> None:
        """Refuse a key that nobody has taken."""
        for key in self._data:
            if key not in self._taken:
                raise self.wrong(key, f"unknown key; known keys: {', '.join(dict.fromkeys(self._taken))}")


def _site(table: _Table, stem: str) -> SiteRules:
    seeds = tuple(_seeds(table))
    domains = tuple(_domains(table, seeds))
    follow = table.table("follow")
    allow, deny = _patterns(follow, "allow"), _patterns(follow, "deny")
    follow.end()
    next_pages = _whole_selector(table, "pagination")
    render = table.take("render")
    try:
        wish(render)
    except ValueError as error:
        raise table.wrong("render", str(error).removeprefix("render: ").removeprefix("render=")) from error
    kinds = table.table("records")
    table.end()
    records = tuple(_record(kinds, each) for each in kinds)
    if not records:
        raise table.wrong("records", "missing: at least one table [records.NAME.fields]")
    site = SiteRules(stem, seeds, domains, records, allow, deny, next_pages, render)
    outside = next((seed for seed in seeds if RuleSet((site,)).of(seed) is None), None)
    if outside is not None:
        raise table.wrong("seeds", f"{outside!r:.80} is in none of the domains: {', '.join(domains):.80}")
    return site


def _seeds(table: _Table) -> Iterator[str]:
    seeds = table.texts("seeds")
    if not seeds:
        raise table.wrong("seeds", "missing: at least one URL, above the first [table]")
    for seed in seeds:
        url = resolve(seed) if seed.startswith(("http://", "https://")) else None
        if url is None:
            raise table.wrong("seeds", f"not an http or https URL: {seed!r:.80}")
        yield url


def _domains(table: _Table, seeds: tuple[str, ...]) -> Iterator[str]:
    given = table.texts("domains")
    try:
        LinkFilter(allowed=frozenset(given))
    except ValueError as error:
        raise table.wrong("domains", error) from error
    yield from dict.fromkeys(map(server_name, given or map(domain_of, seeds)))


def _patterns(table: _Table, key: str) -> UrlPatterns:
    try:
        return UrlPatterns(table.texts(key))
    except ValueError as error:
        raise table.wrong(key, error) from error


def _record(kinds: _Table, name: str) -> RecordRule:
    _check_name(kinds, name)
    table = kinds.table(name)
    rows, pages = _whole_selector(table, "rows"), _patterns(table, "pages")
    keys, fields = table.texts("key"), _fields(table)
    table.end()
    single = {field.name for field in fields if not (field.fields or field.is_list)}
    for key in keys:
        if key not in single:
            raise table.wrong("key", f"{key!r:.80} is no field with one value; these are {', '.join(sorted(single))}")
    return RecordRule(name, fields, tuple(keys), rows, pages)


def _check_name(table: _Table, name: str) -> None:
    """Raise ValueError for a name that cannot be that of a table or a column."""
    if not _is_name(name):
        raise table.wrong(name, "a name begins with a letter and has only a-z, 0-9 and _, at most 60")
    if name in RESERVED:
        raise table.wrong(name, f"{name} is used by every record; choose another name")


def _fields(record: _Table) -> tuple[FieldRule, ...]:
    fields = record.table("fields")
    found = tuple(_field(fields, name) for name in fields)
    if not found:
        raise ValueError(f"{fields.path}: missing: at least one field")
    return found


def _field(fields: _Table, name: str) -> FieldRule:
    _check_name(fields, name)
    table = fields.selector_table(name)
    chosen = _selector(table)
    is_list, is_required = table.take("many", bool, False), table.take("required", bool, False)
    default = table.take("default")
    if "fields" in table:
        rule = FieldRule(name, chosen, None, is_list, is_required, default, _fields(table))
    else:
        is_json = chosen is not None and chosen.path is not None and chosen.regex is None
        rule = FieldRule(name, chosen, _converter(table, is_json=is_json), is_list, is_required, default)
    table.end()
    if chosen is None and not rule.fields:
        raise _missing(table)
    return rule


def _converter(table: _Table, *, is_json: bool) -> Callable[[Any, str], Any]:
    kind = table.take("type", str, "any" if is_json else "text")
    if kind not in TYPES:
        raise table.wrong("type", f"{kind!r} is not one of {', '.join(TYPES)}")
    locale, date_format, true = (table.take(key, str) for key in ("locale", "format", "true"))
    for key, value, kinds in (
        ("locale", locale, ("number", "date", "datetime")),
        ("format", date_format, ("date", "datetime")),
        ("true", true, ("boolean",)),
    ):
        if value is not None and kind not in kinds:
            raise table.wrong(key, f"only for type {' or '.join(kinds)}, not {kind}")
    if locale is not None and not _is_locale(locale):
        raise table.wrong("locale", f"{locale!r:.80} is not a language such as de or de-CH")
    pattern = None if true is None else _compiled(table, "true", true, regular_expression)
    return converter(kind, locale, date_format, pattern)


def _whole_selector(table: _Table, key: str) -> Selector | None:
    """The selector of a key whose table has nothing else."""
    if key not in table:
        table.take(key)
        return None
    below = table.selector_table(key)
    found = _selector(below)
    below.end()
    if found is None:
        raise _missing(below)
    return found


def _missing(table: _Table) -> ValueError:
    return ValueError(f"{table.path}: needs one of {', '.join(_STEPS)}")


def _selector(table: _Table) -> Selector | None:
    """The selector in a table: ``css`` or ``xpath``, ``attr``, ``json``, ``regex``. None if there is none of them."""
    given = {key: value for key in (*_STEPS, "attr") if (value := table.take(key, str)) is not None}
    if not given:
        return None
    compiled = {key: _compiled(table, key, given[key], _STEPS[key]) for key in _STEPS if key in given}
    if "css" in given and "xpath" in given:
        raise table.wrong("xpath", "css is given as well; choose one")
    markup = compiled.get("css") or compiled.get("xpath")
    if "attr" in given and markup is None:
        raise table.wrong("attr", "needs css or xpath")
    return Selector(
        text=", ".join(f"{key} = {value}" for key, value in given.items()),
        markup=markup,
        cost=LINEAR if markup is None else cost_of(markup.path),
        attribute=given.get("attr"),
        path=compiled.get("json"),
        regex=compiled.get("regex"),
    )


def _compiled(table: _Table, key: str, expression: str, compile_it: Callable[[str], Any]) -> Any:
    try:
        return compile_it(expression)
    except ValueError as error:
        raise table.wrong(key, f"{expression[:80]!r}: {error}") from error
