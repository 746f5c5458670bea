"""Fields and selectors of rule files."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any

from crawlproject.records.rules import FieldRule
from crawlproject.records.selectors import (
    LINEAR,
    MAX_EXPRESSION,
    Selector,
    cost_of,
    css,
    json_path,
    xpath,
)
from crawlproject.records.table import RuleError, Table
from crawlproject.records.values import TYPES, converter, reads_dates
from crawlproject.urls.wildcards import regular_expression

if TYPE_CHECKING:
    from collections.abc import Callable

#: Names that records and their tables use themselves.
RESERVED = frozenset(("record", "site", "record_key", "first_seen", "last_seen", "changed", "digest"))

#: Nested tables of fields, and fields in one.
MAX_DEPTH, MAX_FIELDS = 5, 200

_is_name = re.compile(r"[a-z][a-z0-9_]{0,59}").fullmatch
_is_locale = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z]{2,4})?").fullmatch

_MARKUP = {"css": css, "xpath": xpath}


def name_of(name: str, path: tuple[str | int, ...]) -> str:
    """A name that is a column's, too. Raises RuleError."""
    if not _is_name(name):
        raise RuleError(path, "a name begins with a letter and has only a-z, 0-9 and _, at most 60")
    if name in RESERVED:
        raise RuleError(path, f"{name} is used by every record; choose another name")
    return name


def field_rules(table: Table, depth: int = 1) -> tuple[FieldRule, ...]:
    """The fields in a table. Raises RuleError."""
    if depth > MAX_DEPTH:
        raise RuleError(table.path, f"more than {MAX_DEPTH} tables within each other")
    names = table.keys()
    if not names or len(names) > MAX_FIELDS:
        raise RuleError(table.path, f"has {len(names)} fields: must be 1 to {MAX_FIELDS}")
    return tuple(_field(table, name_of(name, (*table.path, name)), depth) for name in names)


def _field(fields: Table, name: str, depth: int) -> FieldRule:
    table = table_at(fields, name)
    chosen = selector(table)
    is_list, is_required = table.take("many", bool, False), table.take("required", bool, False)
    default = table.any("default")
    nested: tuple[FieldRule, ...] = ()
    convert = None
    if table.has("fields"):
        nested = field_rules(table.table("fields"), depth + 1)
    else:
        convert = _converter(table, is_json=chosen is not None and chosen.path is not None and chosen.regex is None)
        if chosen is None:
            table.end()
            raise missing_selector(table)
    table.end()
    return FieldRule(name, chosen, convert, is_list, is_required, default, nested)


def _converter(table: Table, *, is_json: bool) -> Callable[[Any, str], Any]:
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
    if locale is not None and kind != "number" and date_format is None and not reads_dates(locale):
        raise table.wrong("locale", f"{locale!r} is not a language whose dates can be read")
    if date_format is not None and (problem := _problem_of(date_format)):
        raise table.wrong("format", f"{date_format!r:.80}: {problem}")
    pattern = None if true is None else _compiled(table, "true", true, regular_expression)
    return converter(kind, locale, date_format, pattern)


def _problem_of(date_format: str) -> str:
    if "%" not in date_format:
        return "has no directive; one for 2024-12-31 is %Y-%m-%d"
    try:
        datetime.strptime("", date_format)
    except re.error:
        return "a directive is repeated"
    except ValueError as error:
        return "" if "does not match" in str(error) else str(error)
    return ""


def table_at(fields: Table, key: str) -> Table:
    """The table of a selector; a text stands for its ``css``."""
    written = fields.any(key)
    path = (*fields.path, key)
    if not isinstance(written, (str, dict)):
        raise RuleError(path, f"must be a CSS selector or a table, not {written!r:.80}")
    return Table({"css": written} if isinstance(written, str) else written, path)


def whole_selector(table: Table) -> Selector:
    """The selector in a table that has nothing else. Raises RuleError."""
    found = selector(table)
    table.end()
    if found is None:
        raise missing_selector(table)
    return found


def missing_selector(table: Table) -> RuleError:
    """The error to raise for a table without a selector."""
    return RuleError(table.path, "needs one of css, xpath, json, regex")


def selector(table: Table) -> Selector | None:
    """The selector in a table: ``css`` or ``xpath``, ``attr``, ``json``, ``regex``. None if there is none of them."""
    given: dict[str, str] = {}
    for key in ("css", "xpath", "json", "regex", "attr"):
        value = table.take(key, str)
        if value is not None:
            if not value.strip() or len(value) > MAX_EXPRESSION:
                raise table.wrong(key, f"must have 1 to {MAX_EXPRESSION} characters")
            given[key] = value
    if not given:
        return None
    if "css" in given and "xpath" in given:
        raise table.wrong("xpath", "css is given as well; choose one")
    markup = next((key for key in _MARKUP if key in given), None)
    if "attr" in given and markup is None:
        raise table.wrong("attr", "needs css or xpath")
    compiled = None if markup is None else _compiled(table, markup, given[markup], _MARKUP[markup])
    chosen = Selector(
        text=", ".join(f"{key} = {value}" for key, value in given.items()),
        markup=compiled,
        cost=LINEAR if compiled is None else cost_of(compiled.path),
        attribute=given.get("attr"),
        path=_compiled(table, "json", given["json"], json_path) if "json" in given else None,
        regex=_compiled(table, "regex", given["regex"], regular_expression) if "regex" in given else None,
    )
    if compiled is None or chosen.cost != LINEAR or not compiled.path.startswith(("//", "descendant-or-self::")):
        return chosen
    return replace(chosen, first=replace(chosen, markup=xpath(f"({compiled.path})[1]")))


def _compiled(table: Table, key: str, expression: str, compile_it: Callable[[str], Any]) -> Any:
    try:
        return compile_it(expression)
    except ValueError as error:
        raise table.wrong(key, f"{expression[:80]!r}: {error}") from error


def key_of(table: Table, fields: tuple[FieldRule, ...]) -> tuple[str, ...]:
    """The names of the fields that identify a record."""
    names = table.texts("key")
    for name in names:
        rule = next((field for field in fields if field.name == name), None)
        if rule is None:
            raise table.wrong("key", f"no field {name!r:.80}; fields: {', '.join(field.name for field in fields)}")
        if rule.fields or rule.is_list:
            raise table.wrong("key", f"{name} has several values")
    return tuple(names)
