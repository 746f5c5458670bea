"""``scrapy rules check``: what it shows of a page."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from socket import socket
from types import ModuleType

import pytest

from crawlproject.records.rule_file import read_rules, read_site
from tests.crawl.scripted_site import Answer, scripted_site
from tests.processes import run_python

ROOT = Path(__file__).resolve().parents[2]
RULES = """seeds = ["http://127.4.0.1/"]
[records.book.fields]
title = "h1"
price = { css = ".price", type = "number" }
none = ".none"
parts = { css = "li", many = true, fields.name = "b", fields.size = "i" }
"""


def rules(*arguments: str, code: int = 0) -> subprocess.CompletedProcess[str]:
    command = ("-m", "scrapy", "rules", *arguments, "-s", "FRONTIER_ALLOWED_NETWORKS=127.0.0.0/8")
    done = run_python(*command, cwd=ROOT)
    assert done.returncode == code, done.stdout + done.stderr
    return done


def test_check_shows_each_field(tmp_path: Path) -> None:
    """Of a saved page and of one that is fetched; what matched nothing is said with its selector."""
    (tmp_path / "r.toml").write_text(RULES, encoding="utf-8")
    page = "<meta charset=windows-1251><h1>Красный</h1><p class=price>1,50</p><li><b>1</b><li><b>2</b><li>"
    (tmp_path / "p.html").write_bytes(page.encode("cp1251"))
    (tmp_path / "s.toml").write_text(RULES.replace("127.4.0.1", "other.example"), encoding="utf-8")
    shown = rules("check", str(tmp_path), f"{tmp_path}/p.html").stdout
    assert "other.example" not in shown  # of forty sites, only the one of the page
    for line in ("book: 1 record", "  title  'Красный'", "  price  1.5", "  none   - nothing matched: css = .none"):
        assert line in shown
    assert "    name  '1'; in 2 of 2\n    size  - nothing matched: css = i\n" in shown
    with scripted_site() as site:
        site.script = {"/book": Answer(page.encode("cp1251"), headers={"Content-Type": "text/html"})}
        fetched = rules("check", f"{tmp_path}/r.toml", f"{site.origins[0]}/book")
    assert shown.split("book:")[1] == fetched.stdout.split("book:")[1]
    assert fetched.stderr.count("INFO") <= 1


def test_check_fails_where_there_is_no_record(tmp_path: Path) -> None:
    """The exit code is 1 for a wrong file, another domain, a missing page, a page without a record."""
    (tmp_path / "r.toml").write_text(RULES, encoding="utf-8")
    (tmp_path / "wrong.toml").write_text(RULES.replace('"number"', '"nmber"'), encoding="utf-8")
    (tmp_path / "p.html").write_text("<p>nothing", encoding="utf-8")
    assert "wrong.toml: records.book.fields.price.type" in rules("check", f"{tmp_path}/wrong.toml", code=1).stderr
    assert "no rules for its domain" in rules(
        "check", f"{tmp_path}/r.toml", f"{tmp_path}/p.html", "--url", "http://other.example/", code=1
    ).stderr  # fmt: skip
    assert "No such file" in rules("check", f"{tmp_path}/r.toml", f"{tmp_path}/none.html", code=1).stderr
    assert "book: 0 records" in rules("check", f"{tmp_path}/r.toml", f"{tmp_path}/p.html", code=1).stdout
    assert "expected check FILE" in rules("look", code=2).stderr


def test_a_page_that_is_not_there_is_told_at_once(tmp_path: Path) -> None:
    """With the reason: a status, robots.txt, a server that does not answer, which is asked once; no file, no URL."""
    (tmp_path / "r.toml").write_text(RULES, encoding="utf-8")
    check = ("check", f"{tmp_path}/r.toml")
    with scripted_site() as site:
        site.script = {"/robots.txt": Answer("User-agent: *\nDisallow: /no$"), "/none": Answer("", status=404)}
        origin = site.origins[0]
        assert rules(*check, f"{origin}/none", code=1).stderr == f"{origin}/none: not fetched: status 404\n"
        told = rules(*check, f"{origin}/no", code=1).stderr
        assert told.startswith(f"{origin}/no: not fetched: ")
        assert "robots.txt" in told
    with socket() as unused:
        unused.bind(("127.0.0.1", 0))
        down = f"http://127.0.0.1:{unused.getsockname()[1]}/"
        told = rules(*check, down, code=1).stderr
    assert told.count("connection refused") == told.count("\n") == 2, told
    assert f"{down}: not fetched: robots.txt: connection refused" in told
    missing = rules(*check, "shop.example/1", code=1).stderr
    assert missing == "shop.example/1: No such file or directory; a URL begins with http:// or https://\n"


def test_a_page_is_fetched_beside_the_crawl_of_the_project(tmp_path: Path) -> None:
    """``JOBDIR``, feeds and the backend of its settings stay as they are."""
    (tmp_path / "r.toml").write_text(RULES, encoding="utf-8")
    (tmp_path / "pages.jsonl").write_text("{}\n", encoding="utf-8")
    feeds = {f"{tmp_path}/pages.jsonl": {"format": "jsonlines", "overwrite": True, "store_empty": True}}
    own = ("-s", f"JOBDIR={tmp_path}/job", "-s", f"FEEDS={json.dumps(feeds)}", "-s", "FRONTIER_BACKEND=redis")
    with scripted_site() as site:
        site.script = {"/book": Answer("<h1>Red</h1>", headers={"Content-Type": "text/html"})}
        assert "'Red'" in rules("check", f"{tmp_path}/r.toml", f"{site.origins[0]}/book", *own).stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pages.jsonl", "r.toml"]
    assert (tmp_path / "pages.jsonl").read_text(encoding="utf-8") == "{}\n"


def test_rules_of_the_documentation_are_right() -> None:
    """Those in docs/rules, and the example of docs/spiders.md."""
    assert len(read_rules(ROOT / "docs" / "rules").sites) == 3
    example = (ROOT / "docs" / "spiders.md").read_text(encoding="utf-8").split("```toml\n")[1].split("```")[0]
    assert [field.name for field in read_site(example, Path("shop.toml")).records[0].fields][-1] == "authors"


def test_page_objects_of_the_documentation(monkeypatch: pytest.MonkeyPatch) -> None:
    """The module in docs/spiders.md."""
    web_poet = pytest.importorskip("web_poet")
    guide = (ROOT / "docs" / "spiders.md").read_text(encoding="utf-8")
    module = ModuleType("shops_of_the_guide")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(guide.split("## Page objects")[1].split("```python\n")[1].split("```")[0], vars(module))
    rules = [rule for rule in web_poet.default_registry.get_rules() if rule.use.__module__ == "shops_of_the_guide"]
    assert [rule.to_return.__name__ for rule in rules] == ["Book", "Book"]
