"""What documentation pages hold, by regular expressions on their text: an independent count for docs/rules.

It shares no code with the rules: no parser of HTML, no selector.  For each record a dict: field -> its text, or for a
field with several values their number; fields that the page does not have are left out.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any

Expected = dict[str, Any]


def expected_records(site: str, name: str, text: str) -> list[Expected]:
    """The records of the page with the file name ``name``."""
    return list({"python": python, "postgresql": postgresql, "git": git}[site](name, text))


def python(name: str, text: str) -> Iterator[Expected]:
    if name == "py-modindex.html":
        for row in re.split(r"<tr\b", text)[1:]:
            module = re.search(r'<code class="xref">([^<]+)</code></a>', row)
            if module is None or 'href="' not in row:
                continue
            after = row[module.end() :]
            found: Expected = {"name": module[1], "deprecated": "<strong>Deprecated" in row, "page": None}
            cells = after.split("<td>")
            if len(cells) > 1 and (synopsis := re.search(r"<em>(.+?)</em>", cells[-1], re.DOTALL)):
                found["synopsis"] = plain(synopsis[1])
            if platform := re.search(r"<em>\(([^<]*)\)</em>", cells[0]):
                found["platform"] = plain(platform[1])
            yield found
    elif "library/" in name:
        title = re.search(r"<h1>(.*?)</h1>", text, re.DOTALL)
        if title is None:
            return
        found = {"title": plain(title[1]).removesuffix("¶").strip()}
        if '<link rel="next"' in text:
            found["next"] = None
        if sources := re.findall(r'<a [^>]*href="[^"]*/cpython/tree/', text):
            found["sources"] = len(sources)
        if definitions := re.findall(r'<dt class="sig sig-object py" id="', text):
            found["definitions"] = len(definitions)
        if "Last updated on" in text:
            found["updated"] = None
        yield found


def postgresql(name: str, text: str) -> Iterator[Expected]:
    if not re.fullmatch(r"(?:sql|app)-[a-z0-9-]+\.html", name) or 'class="refnamediv"' not in text:
        return
    title = re.search(r"<title>(.*?)</title>", text, re.DOTALL)
    assert title is not None
    found: Expected = {"title": plain(title[1])}
    for field, sign in (("purpose", "—"), ("synopsis", "refsynopsisdiv"), ("description", "<h2>Description</h2>")):
        if sign in text:
            found[field] = None
    also = text.partition("<h2>See Also</h2>")[2].partition('<div class="navfooter"')[0]
    if references := re.findall(r'<a class="xref"', also):
        found["see_also"] = len(references)
    if 'class="variablelist"><dl' in text.replace("\n", ""):
        found["parameters"] = len(re.findall(r"<dt[ >]", text))
    yield found


def git(name: str, text: str) -> Iterator[Expected]:
    manual = re.search(r"<h1>\s*([^\s<(]+)\(([0-9])\) Manual Page\s*</h1>", text)
    if manual is None or not re.fullmatch(r"git(?:k|-[a-z0-9-]+)?\.html", name):
        return
    found: Expected = {"name": plain(manual[1]), "section": int(manual[2])}
    if purpose := re.search(r"<h2>NAME</h2>\s*<div class=\"sectionbody\">\s*<p>.*?\s-\s+(.*?)</p>", text, re.DOTALL):
        found["purpose"] = plain(purpose[1])
    if 'id="_synopsis"' in text:
        found["synopsis"] = None
    if headings := re.findall(r"<h2 id=", text):
        found["headings"] = len(headings)
    options = re.search(r'<h2 id="_options">.*?(?=<h2|\Z)', text, re.DOTALL)
    if options and (terms := re.findall(r'<dt class="hdlist1">', options[0])):
        found["options"] = len(terms)
    if re.search(r"Last updated\s+[0-9-]+ [0-9:]+ UTC", text):
        found["updated"] = None
    yield found


def plain(markup: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", markup)).split())
