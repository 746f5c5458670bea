"""The commands of docs/spiders.md, as a reader types them.

Hosts are replaced by servers on loopback, which have the saved pages of Python's documentation and two small shops.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from testbed.rules import RULES, SITES, pages_of
from tests.crawl.crawling import IMPOLITE
from tests.crawl.scripted_site import Answer, Script, Site, scripted_site
from tests.pages import ROOT, commands, page
from tests.processes import run_python

PAGE = page("spiders.md")
HTML = {"Content-Type": "text/html"}
HOSTS = ("docs.python.org", "books.example.org", "books.example.com")
SHOPS: Script = {
    "2/": Answer('<a href="/book/1">x</a>', headers=HTML),
    "2/book/1": Answer("<h1>Red</h1>", headers=HTML),
    "3/": Answer("<p id=title>Blue</p>", headers=HTML),
}


@pytest.fixture
def site() -> Iterator[Site]:
    """The hosts, in this order."""
    python = next(one for one in SITES if one.name == "python")
    pages = {f"1/3.11/{url.removeprefix(python.url)}": Answer(body, headers=HTML) for url, body in pages_of(python)}
    abc = {"1/3.11/library/abc.html": pages["1/3.11/library/sched.html"]}
    with scripted_site(len(HOSTS)) as servers:
        servers.script = {**pages, **abc, **SHOPS}
        yield servers


def on_loopback(text: str, site: Site) -> str:
    """With the servers in place of the hosts."""
    for host, origin in zip(HOSTS, site.origins, strict=True):
        text = text.replace(f"https://{host}", origin).replace(host, origin.removeprefix("http://"))
    return text


def run_commands(folder: Path, site: Site) -> str:
    """Run all commands of the page in ``folder``; returns what they print."""
    (folder / "docs" / "rules").mkdir(parents=True)
    for file in RULES.glob("*.toml"):
        (folder / "docs" / "rules" / file.name).write_text(on_loopback(file.read_text(), site), encoding="utf-8")
    quick = {**IMPOLITE, "FRONTIER_ALLOWED_NETWORKS": "127.0.0.0/8"}
    settings = "\n".join(f"{name} = {value!r}" for name, value in quick.items())
    (folder / "quick.py").write_text(f"from crawlproject.settings import *\n{settings}\n", encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": f"{ROOT}:{folder}", "SCRAPY_SETTINGS_MODULE": "quick"}
    shown = ""
    for command in commands(PAGE):
        if command.startswith("sqlite3 "):  # a program of its own
            continue
        program = on_loopback(command, site)
        scrapy, *arguments = shlex.split(program)
        assert scrapy == "scrapy"
        done = run_python("-m", "scrapy", *arguments, cwd=folder, env=environment)
        assert done.returncode == 0, f"{program}\n{done.stdout}\n{done.stderr[-3_000:]}"
        shown += done.stdout
    return shown


def test_spiders_rules_page_objects_and_database(tmp_path: Path, site: Site) -> None:
    """Each command does what the page says; the table has the columns that it asks for."""
    pytest.importorskip("scrapy_poet")
    module = re.search(r'^```python\n("""shops.py: .*?)^```', PAGE, re.MULTILINE | re.DOTALL)
    assert module
    (tmp_path / "shops.py").write_text(re.sub(r":\d+", "", on_loopback(module[1], site)), encoding="utf-8")
    shown = run_commands(tmp_path, site)
    assert "title" in shown
    assert {record["record"] for record in lines(tmp_path / "modules.jsonl")} == {"module", "chapter"}
    books = [item for item in lines(tmp_path / "books.jsonl") if item.keys() == {"url", "title"}]
    assert {book["title"] for book in books} == {"Red", "Blue"}
    asked = re.search(r'"(SELECT .*?)"', PAGE)
    assert asked
    with closing(sqlite3.connect(tmp_path / "records.db")) as database, database:
        assert len(database.execute(asked[1]).fetchall()) > 10


def lines(path: Path) -> list[dict[str, Any]]:
    """The items of a feed."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
