"""The docs name every setting and every stat; what they name and link to exists."""

import ast
import os
import re
import shlex
from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from unittest.mock import Mock

import pytest
from scrapy.cmdline import ScrapyArgumentParser
from scrapy.settings import Settings, default_settings

from crawlproject.frontier.policy import POLICIES
from crawlproject.frontier.quality import QUALITIES
from crawlproject.monitor.console.control import Control
from crawlproject.options.all_settings import DEFAULTS, FAMILIES, OTHERS
from crawlproject.records.values import TYPES
from crawlproject.spiders.web import ARGUMENTS, LIMITS
from scripts import reference
from tests.pages import ROOT, commands

SOURCES = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "crawlproject").rglob("*.py"))
SETTINGS = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
STATS = (ROOT / "docs" / "stats.md").read_text(encoding="utf-8")
DOCS = sorted((ROOT / "docs").rglob("*.md"))
PAGES = [
    ROOT / "README.md",
    ROOT / "CHANGELOG.md",
    ROOT / "CONTRIBUTING.md",
    *DOCS,
    *(ROOT / "tests").rglob("README.md"),
]


def test_settings_and_stats_are_generated() -> None:
    """Both pages are what ``scripts/reference.py`` makes of the declarations."""
    assert reference.settings() == SETTINGS, "run scripts/reference.py"
    assert reference.stats() == STATS, "run scripts/reference.py"


def test_every_setting_is_declared_with_a_meaning() -> None:
    """Each of ours once, with one or two sentences, and none that its family does not read; some are Scrapy's."""
    families = {family: dict(reference.meanings(family)) for family in FAMILIES}
    names = [name for meanings in families.values() for name in meanings]
    assert len(names) == len(set(names))
    assert set(DEFAULTS) - set(names) == set()
    for family, meanings in families.items():
        others = set(meanings) - set(family.defaults())
        assert {name for name in others if not hasattr(default_settings, name)} == set()
        assert [name for name, meaning in meanings.items() if len(meaning.split()) > 30] == []


def test_every_setting_that_the_code_reads_is_in_the_table() -> None:
    """By its prefix: so a misspelling of it is noticed."""
    read = set(re.findall(r'"((?:FRONTIER_|REDIS_)[A-Z_]+)"', SOURCES))
    assert len(read) > 70
    own = {name for name in read if not hasattr(default_settings, name)}
    assert own - set(DEFAULTS) - OTHERS == set()


def test_limits_are_documented_as_arguments_and_settings() -> None:
    """Each argument of ``web`` beside its setting in docs/limits.md, or in README."""
    limits = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")
    for argument, (setting, _) in LIMITS.items():
        assert re.search(rf"^\|[^|]*\| `{argument}=.*\| `{setting}`", limits, re.MULTILINE), argument
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for argument in set(ARGUMENTS) - set(LIMITS):
        assert f"`-a {argument}=" in readme, argument


@pytest.mark.parametrize(
    ("page", "row", "names"),
    [
        ("policies.md", r"^\| `{}`", (*POLICIES, *QUALITIES)),
        ("settings.md", r"^- `FRONTIER_POLICY` .*`{}`", POLICIES),
        ("settings.md", r"^- `FRONTIER_QUALITY` .*`{}`", QUALITIES),
        ("spiders.md", r"^\| .*`{}`", TYPES),
        ("watch.md", "`/api/{}`", Control.actions(Mock())),
    ],
)
def test_names_that_users_give_are_documented(page: str, row: str, names: Iterable[str]) -> None:
    """Policies, qualities, types of fields, actions of the console."""
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    assert [name for name in names if not re.search(row.format(name), text, re.MULTILINE)] == []


def test_every_stat_is_documented() -> None:
    """Each literal name in the sources that begins as a stat which is counted there stands in docs/stats.md."""
    counted = re.findall(r'(?:inc|set|max|min)_value\(\s*f?"([a-z_]+/[a-z_/]*[a-z_])"', SOURCES)
    families = "|".join(sorted({name.partition("/")[0] for name in counted} - {"downloader", "httperror"}))  # Scrapy's
    names = {*re.findall(rf'"((?:{families})/[a-z_/]+[a-z_])"', SOURCES)}
    assert len(names) > 100
    for name in names:
        assert f"`{name}`" in STATS or f"`…/{name.rsplit('/', 1)[1]}`" in STATS, name


def test_every_stat_of_a_worker_is_documented() -> None:
    """The keys of what ``Worker.summary`` returns."""
    worker = ast.parse((ROOT / "crawlproject" / "workers" / "worker.py").read_text(encoding="utf-8"))
    functions = {node.name: node for node in ast.walk(worker) if isinstance(node, ast.FunctionDef)}
    dicts = [*ast.walk(functions["summary"]), *ast.walk(functions["__init__"])]
    keys = [key for node in dicts if isinstance(node, ast.Dict) for key in node.keys]
    names = {f"workers/{key.value}" for key in keys if isinstance(key, ast.Constant)}
    assert {"workers/partitions", "workers/lag", "workers/lost", "workers/received/bad"} <= names
    assert {name for name in names if f"`{name}`" not in STATS} == set()


SCRAPY_COMMANDS = [
    (path.name, command)
    for path in (ROOT / "README.md", *DOCS)
    for command in commands(path.read_text(encoding="utf-8"))
    if command.startswith("scrapy ")
]


@pytest.mark.parametrize(("name", "line"), SCRAPY_COMMANDS, ids=[f"{name}: {line}" for name, line in SCRAPY_COMMANDS])
def test_scrapy_understands_every_command(name: str, line: str) -> None:
    """The command and its options exist."""
    words = shlex.split(line)
    end = next((number for number, word in enumerate(words) if word in ("|", ">", "2>&1")), len(words))
    _, command_name, *arguments = words[:end]
    places = ("crawlproject.commands", "scrapy.commands")
    place = next(place for place in places if find_spec(f"{place}.{command_name}"))
    command = import_module(f"{place}.{command_name}").Command()
    command.settings = Settings()
    parser = ScrapyArgumentParser(conflict_handler="resolve")
    command.add_options(parser)
    options, rest = parser.parse_known_args(arguments)
    assert [word for word in rest if word.startswith("-")] == []
    if place == "crawlproject.commands" and command_name in ("crawl", "workers"):
        command.process_options(rest, options)


def test_links_between_the_docs_lead_somewhere() -> None:
    """No link to a file, or to a heading, that is not there."""
    for page in PAGES:
        for target, _, heading in re.findall(r"\]\((?!https?:)([^)#]*)(#([^)]+))?\)", page.read_text(encoding="utf-8")):
            path = page.parent / target if target else page
            assert path.exists(), f"{page.name}: {target}"
            if heading:
                assert heading in headings(path), f"{page.name}: {target}#{heading}"


def headings(page: Path) -> set[str]:
    titles = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def test_files_named_in_the_docs_exist() -> None:
    """A reader finds what is named; CHANGELOG tells of what is gone, too."""
    for page in PAGES:
        if page.name == "CHANGELOG.md":
            continue
        text = page.read_text(encoding="utf-8")
        text = re.sub(r"\b[0-9a-f]{8}:[\w./-]+", "", text)  # what a commit still had
        for name in re.findall(r"\b((?:crawlproject|docs|testbed|tests)/[\w./-]+\.(?:py|md|toml))\b", text):
            assert (ROOT / name).exists(), f"{page.name}: {name}"
        for name in re.findall(r"scripts/[a-z0-9_]+(?:\.py)?", text):
            assert (ROOT / name).exists(), f"{page.name}: {name}"


def test_table_of_contents_has_every_page() -> None:
    """docs/README.md."""
    contents = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    for page in DOCS:
        name = page.relative_to(ROOT / "docs")
        assert page.name == "README.md" or f"]({name})" in contents, name


def test_scripts_are_executable() -> None:
    """The docs start them by their path: each file in scripts/ with a ``#!`` line."""
    scripts = [path for path in (ROOT / "scripts").rglob("*") if path.is_file() and path.read_bytes()[:2] == b"#!"]
    assert len(scripts) > 10
    assert [path.name for path in scripts if not os.access(path, os.X_OK)] == []
