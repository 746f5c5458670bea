"""docs/architecture.md: what it names exists, and its examples, and those of docs/policies.md, work."""

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest
from scrapy import Request

from crawlproject.backends.choice import BACKENDS
from crawlproject.frontier import Entry, Frontier, Measurement, Politeness, QualityFirst
from tests.contract.test_backends import Place
from tests.crawl.crawling import IMPOLITE
from tests.crawl.scripted_site import Answer, page, scripted_site
from tests.processes import run_python

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (.+\?) \| (.+) \|$", PAGE, re.MULTILINE)
POLICIES = (ROOT / "docs" / "policies.md").read_text(encoding="utf-8")
#: Heading -> the first block of Python below it.
EXAMPLES = dict(re.findall(r"^## (.+?)\n(?:(?!^## ).*\n)*?```python\n((?:.*\n)*?)```", PAGE + POLICIES, re.MULTILINE))


def definitions(path: Path) -> set[str]:
    """Functions, classes, ``Class.method`` and constants of a module."""
    names: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{one.name}" for one in node.body if hasattr(one, "name")}
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


@pytest.mark.parametrize(("question", "where"), ROWS, ids=[question for question, _ in ROWS])
def test_each_file_and_definition_exists(question: str, where: str) -> None:
    """A name in backquotes belongs to the file named before it."""
    found: list[tuple[Path, str]] = []
    path = None
    for quoted in re.findall(r"`([^`]+)`", where):
        if quoted.endswith(".py"):
            path = ROOT / quoted
        elif path is not None:
            found.append((path, quoted))
    assert found, question
    for path, name in found:
        assert name in definitions(path), f"{question} {path.relative_to(ROOT)} has no {name}"


def test_policy_quality_spider_and_middleware_work_in_a_crawl(tmp_path: Path) -> None:
    """One crawl by the settings shown: the larger server first, its short URLs before its long ones."""
    parts = ("A policy of your own", "A quality of your own", "Add a spider", "Add a middleware")
    (tmp_path / "examples.py").write_text("\n\n".join(EXAMPLES[part] for part in parts))
    (tmp_path / "project.py").write_text(EXAMPLES["Switch them on"])
    settings = {**IMPOLITE, "FRONTIER_MAX_SESSIONS": 1, "FRONTIER_ALLOWED_NETWORKS": "127.0.0.0/8"}
    options = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
    with scripted_site(2) as site:
        site.script = {
            "1/": page(),
            "2/": page("/b/c/late"),
            "2/a": page(),
            "2/article/1": page(title="An article"),
            "2/b/c/late": Answer("<p>", headers={"Content-Type": "text/html", "Server": "Example/2.0"}),
        }
        seeds = ",".join(map(site.url, ("1/", "2/article/1", "2/", "2/a")))
        done = run_python(
            *("-m", "scrapy", "crawl", "articles", "-a", f"seeds={seeds}", "-O", "items.jsonl", *options),
            cwd=tmp_path,
            env={"SCRAPY_SETTINGS_MODULE": "project", "PYTHONPATH": str(ROOT)},
        )
        assert done.returncode == 0, done.stderr
        assert site.places() == ["2/", "2/a", "2/article/1", "2/b/c/late", "1/"], done.stderr
        items = [json.loads(line) for line in (tmp_path / "items.jsonl").read_text().splitlines()]
        assert items == [{"url": site.url("2/article/1"), "title": "An article"}]
    assert "'software/Example': 1" in done.stderr


def test_content_type_is_read_in_a_crawl(tmp_path: Path) -> None:
    """By the setting shown: what the file lists is fetched."""
    (tmp_path / "examples.py").write_text(EXAMPLES["Add a content type"])
    addon = 'ADDONS = {"crawlproject.addon.FrontierAddon": 300}\nSPIDER_MODULES = ["crawlproject.spiders"]\n'
    (tmp_path / "project.py").write_text(addon)
    readers = re.findall(r"'(FRONTIER_LINKS_READERS=.*)'", PAGE)[0]
    settings = {**IMPOLITE, "FRONTIER_ALLOWED_NETWORKS": "127.0.0.0/8", "FRONTIER_LINKS_TYPES": "text/html"}
    options = [part for name, value in settings.items() for part in ("-s", f"{name}={value}")]
    with scripted_site() as site:
        site.script = {
            "1/": Answer("# comment\n/a\n\nb?c\n", headers={"Content-Type": "text/uri-list"}),
            "1/a": page(),
            "1/b?c": page(),
        }
        arguments = ("-m", "scrapy", "crawl", "web", "-a", f"seeds={site.url('1/')}", "-s", readers, *options)
        environment = {"SCRAPY_SETTINGS_MODULE": "project", "PYTHONPATH": str(ROOT)}
        done = run_python(*arguments, cwd=tmp_path, env=environment)
        assert done.returncode == 0, done.stderr
        assert sorted(site.places()) == ["1/", "1/a", "1/b?c"], done.stderr


def example(heading: str) -> dict[str, Any]:
    """What the example below ``heading`` defines."""
    names: dict[str, Any] = {}
    exec(EXAMPLES[heading], names)
    return names


def test_store_is_told_what_changes() -> None:
    """A new server, and a measured one."""
    store = example("Add a store")["ChangedServers"]()
    frontier = Frontier(QualityFirst(), Politeness())
    frontier.keep_in(store, 0.0)
    frontier.push([Entry("http://a.example/1"), Entry("http://b.example/1")])
    assert store.keys == {"http://a.example", "http://b.example"}
    store.keys.clear()
    frontier.record(Measurement("http://b.example", 1.0, status=200, response_time=0.1, fetch_time=0.1))
    assert store.keys == {"http://b.example"}


def test_backend_keeps_a_request(monkeypatch: pytest.MonkeyPatch) -> None:
    """Opened by its name, it gives back the request that it was given, and counts what is handed out."""
    monkeypatch.setitem(BACKENDS, "memory", example("Add a backend")["CountingBackend"])
    with Place("memory", {}).open() as crawl:
        backend: Any = crawl.backend
        request = Request("http://a.example/", meta={"number": 1})
        crawl.push(request)
        entry = crawl.take()
        assert backend.unpack(entry) is request
        backend.handed_out(request, entry)
        assert backend.under_way == 1
        backend.given_back(request)
        assert backend.under_way == 0
