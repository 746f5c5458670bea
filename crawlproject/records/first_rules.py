"""Writes a first rule file for a page: what its JSON-LD and OpenGraph tell (``scrapy rules init``)."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from lxml import etree

from crawlproject.records.fields import RESERVED
from crawlproject.records.reading import Source, read_page
from crawlproject.records.record import rule_name
from crawlproject.records.rule_file import read_site
from crawlproject.records.selectors import JsonText, text_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

#: Types of JSON-LD that describe the site rather than the page; used if there is nothing else.
_OF_THE_SITE = ("WebSite", "Organization", "BreadcrumbList", "SearchAction", "ImageObject", "WebPage")

#: Kinds of records of each source, fields of a kind, and levels of nested objects.
_MAX_KINDS, _MAX_FIELDS, _MAX_DEPTH = 3, 40, 2
#: The scripts with JSON-LD.
_LD_JSON = "script[type='application/ld+json']"

#: Names whose digits are no number.
_is_identifier = re.compile(r"(?:^|_)(?:id|sku|mpn|isbn|gtin[0-9]*|identifier|phone|telephone|fax|code)$").search
_is_number = re.compile(r"-?[0-9]+(?:\.[0-9]+)?").fullmatch
_is_path = re.compile(r"[A-Za-z_][A-Za-z0-9_]*").fullmatch
_is_url = re.compile(r"https?://\S+").fullmatch

Fields = dict[str, dict[str, Any]]


def first_rules(text: str, url: str, file: Path) -> str:
    """A rule file for the page ``text``. Its fields are found on the page; if none is, a comment says so."""
    source = Source(text, url)
    kinds = [kind for kind in (*_json_ld(source), *_open_graph(source)) if kind[2]]
    kinds = kinds or [("page", "the page itself: it has no JSON-LD or OpenGraph", _plain(), None)]
    names: set[str] = set()
    parts = [_head(url)]
    for name, comment, fields, rows in kinds:
        unique = next(one for one in (name, *(f"{name}_{number}" for number in range(2, 99))) if one not in names)
        names.add(unique)
        found = _found(source, _record(unique, fields, rows, url), fields, file, url)
        if found or len(kinds) == 1:
            missing = "" if found else "# Not one of these fields was found on the page.\n"
            parts.append(f"# From {_one_line(comment)}.\n{missing}{_record(unique, found or fields, rows, url)}")
    return "\n".join(parts)


def _head(url: str) -> str:
    host = urlsplit(url).netloc.rpartition("@")[2]
    return (
        f"seeds = [{_quoted(url)}]\n"
        f"domains = [{_quoted(host)}]\n\n"
        "# Which links are followed: without patterns, all within the domains.\n"
        "[follow]\nallow = []\ndeny = []\n"
    )


def _record(name: str, fields: Fields, rows: dict[str, str] | None, url: str) -> str:
    folder = urlsplit(url).path.rstrip("/").rpartition("/")[0].rstrip("/")
    if folder.startswith("//"):
        folder = f"*/{folder.lstrip('/')}"  # a pattern that begins with // is none
    lines = [f"[records.{name}]", "# The folder of this page: narrow it to pages that have such a record, or widen it."]
    lines.append(f"pages = [{_quoted(f'{folder}/')}]")
    if rows:
        lines.append(f"rows = {_inline(rows)}")
    key = next((one for one in ("sku", "isbn", "gtin", "id", "identifier", "url") if one in fields), None)
    if key and not fields[key].get("many"):
        lines.append(f"key = {_quoted(key)}")
    lines.append(f"\n[records.{name}.fields]")
    lines += [f"{field} = {_inline(rule)}" for field, rule in fields.items()]
    return "\n".join(lines) + "\n"


def _found(source: Source, record: str, fields: Fields, file: Path, url: str) -> Fields:
    site = read_site(f"{_head(url)}\n{record}", file)
    readings = read_page(source, list(site.records))
    found = {name for reading in readings for name in reading.found}
    return {name: rule for name, rule in fields.items() if name in found}


def _json_ld(source: Source) -> Iterator[tuple[str, str, Fields, dict[str, str] | None]]:
    root = source.root()
    scripts = root.xpath("//script[@type='application/ld+json']") if isinstance(root, etree._Element) else []
    found = [one for script in scripts for one in _listed(JsonText(text_of(script)).value())]
    objects = [one for top in found if isinstance(top, dict) for one in (top, *_listed(top.get("@graph")))]
    typed = sorted((one for one in objects if isinstance(one, dict) and one.get("@type")), key=len)
    by_type = {str(_listed(one["@type"])[0]): one for one in typed}  # the fullest: others may be links to more of them
    chosen = [kind for kind in by_type if kind not in _OF_THE_SITE] or list(by_type)
    for kind, fields in _largest((kind, _json_fields(by_type[kind])) for kind in chosen):
        quoted = kind.replace("\\", "\\\\").replace("'", "\\'")
        path = f'to_array(@)[].[@, "@graph"][][] | [?contains(to_array("@type"), \'{quoted}\')]'
        yield rule_name(kind), f"JSON-LD, {kind}", fields, {"css": _LD_JSON, "json": path}


def _largest(kinds: Iterable[tuple[str, Fields]]) -> list[tuple[str, Fields]]:
    """Those with most fields: what a page is about says more of itself than its author, its questions or its menus."""
    return sorted(kinds, key=lambda kind: -len(kind[1]))[:_MAX_KINDS]


def _json_fields(one: dict[str, Any]) -> Fields:
    by_depth = sorted(_nested_json_fields(one, "", "", 1, many=False), key=lambda found: found[0])
    return {name: rule for _, name, rule in by_depth[:_MAX_FIELDS]}


def _nested_json_fields(
    one: dict[str, Any], path: str, name: str, depth: int, *, many: bool
) -> Iterator[tuple[int, str, dict[str, Any]]]:
    """Depth, name and rule of each field below ``path``; ``many``: of each object of a list."""
    for key, value in one.items():
        if key.startswith("@") or not value:
            continue
        step = key if _is_path(key) else json.dumps(key)
        full, full_name = f"{path}{step}", _field_name(f"{name}{key}")
        listed = isinstance(value, list)
        inner = next((each for each in _listed(value) if isinstance(each, (dict, list))), None)
        if isinstance(inner, dict):
            if depth <= _MAX_DEPTH:
                steps = f"{path}to_array({step})[]."  # on other pages there may be several, or one
                yield from _nested_json_fields(inner, steps, f"{full_name}_", depth + 1, many=many or listed)
        elif inner is None:
            if many or listed:  # at the top one value may be there as well
                yield depth, full_name, {"json": f"{full}[]" if listed and path else full, "many": True}
            else:
                yield depth, full_name, {"json": f"{full} | [0]" if path else full, **_typed(value, full_name)}


def _open_graph(source: Source) -> Iterator[tuple[str, str, Fields, None]]:
    root = source.root()
    metas = root.xpath("//meta[starts-with(@property, 'og:')][@content]") if isinstance(root, etree._Element) else []
    fields: Fields = {}
    counts = Counter(meta.get("property") for meta in metas)
    for meta in metas[:_MAX_FIELDS]:
        name = meta.get("property")
        if "'" not in name:
            plain = _field_name(name.partition(":")[2] or name)
            many = {"many": True} if counts[name] > 1 else {}
            css = f"meta[property='{name}']::attr(content)"
            fields.setdefault(plain, {"css": css, **_typed(meta.get("content"), plain), **many})
    yield "page", "OpenGraph", fields, None


def _plain() -> Fields:
    return {
        "title": {"css": "h1"},
        "page_title": {"css": "title"},
        "description": {"css": "meta[name='description']::attr(content)"},
    }


def _field_name(name: str) -> str:
    plain = rule_name(name)
    return f"{plain}_value" if plain in RESERVED else plain


def _typed(value: Any, name: str) -> dict[str, str]:
    text = str(value).strip()
    if _is_identifier(name):
        return {"type": "text"}
    if isinstance(value, bool) or text.lower() in ("true", "false"):
        return {"type": "boolean"}
    if isinstance(value, (int, float)) or (_is_number(text) and len(text) < 9 and not text.startswith("0")):
        return {"type": "number", "locale": "en"}
    if _is_url(text):
        return {"type": "url"}
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return {"type": "text"}
    return {"type": "datetime" if len(text) > 10 or moment.tzinfo else "date"}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) and value else [] if value is None else [value]


def _inline(rule: dict[str, Any]) -> str:
    values = (
        f"{key} = {str(value).lower() if isinstance(value, bool) else _quoted(value)}" for key, value in rule.items()
    )
    return "{ " + ", ".join(values) + " }"


def _one_line(comment: str) -> str:
    """Text of the page, changed so that it cannot end the comment."""
    return "".join(char if char.isprintable() else " " for char in comment[:100])


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
