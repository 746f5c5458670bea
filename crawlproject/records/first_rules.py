"""Writes a first rule file for a page: what its JSON-LD, microdata and OpenGraph tell (``scrapy rules init``)."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from lxml import etree

from crawlproject.options.extras import needs_extra
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
#: As a condition of XPath: the property belongs to an item of this kind, not to one within it.
_OWN = "[ancestor::*[@itemscope][1][contains(@itemtype, '/KIND')]]"
#: As a condition of XPath: it has a property of this name, perhaps among others.
_HAS_NAME = "contains(concat(' ', normalize-space(@itemprop), ' '), $name)"
#: Items of microdata that are looked at: each costs a search of the page.
_MAX_ITEMS = 100

#: Names whose digits are no number.
_is_identifier = re.compile(r"(?:^|_)(?:id|sku|mpn|isbn|gtin[0-9]*|identifier|phone|telephone|fax|code)$").search
_is_number = re.compile(r"-?[0-9]+(?:\.[0-9]+)?").fullmatch
_is_path = re.compile(r"[A-Za-z_][A-Za-z0-9_]*").fullmatch
_is_url = re.compile(r"https?://\S+").fullmatch

#: The attribute that is the value of a microdata property, by element (HTML standard).
_ATTRIBUTES = {
    "a": "href", "area": "href", "link": "href", "audio": "src", "embed": "src", "iframe": "src", "img": "src",
    "source": "src", "track": "src", "video": "src", "object": "data", "data": "value", "meter": "value",
    "time": "datetime", "meta": "content",
}  # fmt: skip
_URLS = frozenset(("href", "src", "data"))

Fields = dict[str, dict[str, Any]]


def first_rules(text: str, url: str, file: Path) -> str:
    """The text of a rule file for the page ``text``. Its fields are found on the page; if none is, a comment says so.

    Raises MissingExtraError without extruct.
    """
    source = Source(text, url)
    kinds = [kind for kind in (*_json_ld(source), *_microdata(source, text, url), *_open_graph(text)) if kind[2]]
    kinds = kinds or [("page", "the page itself: it has no JSON-LD, microdata or OpenGraph", _plain(), None)]
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


def _microdata(source: Source, text: str, url: str) -> Iterator[tuple[str, str, Fields, dict[str, str] | None]]:
    with needs_extra("scrapy rules init", "records"):
        from extruct.w3cmicrodata import MicrodataExtractor
    try:
        items = MicrodataExtractor().extract(text, base_url=url)
    except Exception:  # noqa: BLE001 - whatever the library raises for a page
        return
    root = source.root()
    kinds: dict[str, Fields] = {}
    for item in items[:_MAX_ITEMS]:
        kind = str(_listed(item.get("type") or "")[0]).rstrip("/").rpartition("/")[2]
        if not kind.isalnum() or kind in kinds or not isinstance(root, etree._Element):
            continue
        kinds[kind] = {}
        for name, value in list(item.get("properties", {}).items())[:_MAX_FIELDS]:
            within = f"//*[@itemscope and contains(@itemtype, '/{kind}')]//*[{_HAS_NAME}]"
            own = root.xpath(f"{within}{_OWN.replace('KIND', kind)}", name=f" {name} ")
            if own and own[0].get("itemscope") is None:
                is_first = root.xpath(f"({within})[1]", name=f" {name} ")[0] is own[0]
                many = {"many": True} if isinstance(value, list) else {}
                kinds[kind][_field_name(name)] = {**_microdata_rule(name, own[0], "" if is_first else kind), **many}
    for kind, fields in _largest(kinds.items()):
        yield rule_name(kind), f"microdata, {kind}", fields, {"css": f"[itemtype$='/{kind}']"}


def _microdata_rule(name: str, element: Any, kind: str) -> dict[str, Any]:
    """The rule that finds ``element``; ``kind``: of its item, if an item within has a property of this name before."""
    quote = '"' if "'" in name else "'"
    equals = "=" if element.get("itemprop") == name else "~="
    css = f"[itemprop{equals}{quote}{name}{quote}]"
    named = _HAS_NAME.replace("$name", f"{quote} {name} {quote}")
    selector = {"xpath": f".//*[{named}]{_OWN.replace('KIND', kind)}"} if kind else {}
    attribute = "content" if element.get("content") is not None else _ATTRIBUTES.get(element.tag)
    if attribute is None or element.get(attribute) is None:
        value = "".join(element.itertext()).strip()
        return {**(selector or {"css": css}), **_typed(value, _field_name(name))}
    selector = selector and {**selector, "attr": attribute}
    selector = selector or {"css": f"{css}::attr({attribute})"}
    rule = {**selector, **_typed(element.get(attribute), _field_name(name))}
    return {**rule, "type": "url"} if attribute in _URLS else rule


def _open_graph(text: str) -> Iterator[tuple[str, str, Fields, None]]:
    with needs_extra("scrapy rules init", "records"):
        from extruct.opengraph import OpenGraphExtractor
    try:
        found = OpenGraphExtractor().extract(text)
    except Exception:  # noqa: BLE001 - whatever the library raises for a page
        return
    fields: Fields = {}
    pairs = [pair for one in found for pair in one.get("properties", ())]
    counts = Counter(name for name, _ in pairs)
    for name, value in pairs[:_MAX_FIELDS]:
        if "'" not in name:
            css = f"meta[property='{name}']::attr(content)"
            plain = _field_name(name.partition(":")[2] or name)
            many = {"many": True} if counts[name] > 1 else {}
            fields.setdefault(plain, {"css": css, **_typed(value, plain), **many})
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
    """The type that an example suggests."""
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
