"""The package as others install it: metadata, commands in any Scrapy project, what works without the extras."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from email import message_from_bytes
from importlib.metadata import requires
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from crawlproject.urls.native import PARTS, compiled
from testbed.web import WebSpec, running_web
from tests.processes import HUNG
from tests.source import statements

from .test_layering import imports

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PYPROJECT["optional-dependencies"]
#: Modules of the extras, and what requirements.txt has besides.
HEAVY = (
    "numpy",
    "igraph",
    "fastwarc",
    "zstandard",
    "isal",
    "scrapy_redis",
    "redis",
    "Stemmer",
    "rjieba",
    "snowballstemmer",
    "sqlalchemy",
    "psycopg",
    "dateparser",
)
#: Of the extras, and what is compiled.
MISSING = (*HEAVY, *(f"crawlproject.urls.native.{part}" for part in PARTS))
#: Modules that a crawl imports when it needs them: a store, Redis, metrics, a page to compare, consoles, words.
UNUSED_AT_FIRST = {
    *HEAVY,
    "rocksdict",
    "pybloom_live",
    "prometheus_client",
    "aiohttp",
    "twisted.conch.telnet",
    "crawlproject.content.relevance",
}
OWN_COMMANDS = ("console", "frontier", "pagerank", "report", "repository", "rules", "simulate", "workers")
#: Modules of records/ that are imported with their settings only, or import their libraries when they are called.
RECORD_MODULES = ("database", "feeds", "page_objects", "values")
#: Modules of commands that import redis when they run.
REDIS_COMMANDS = ("private_redis", "worker_view", "workers")
#: That a plain install adds to Scrapy and its dependencies (27 November 2026: 58 MB beside 104).
MAX_MEGABYTES_ADDED = 65
SMALL = WebSpec(servers=4, pages=40, time_scale=0)
NOW = ("-s", "FRONTIER_ALLOWED_NETWORKS=127.0.0.0/8", "-s", "FRONTIER_MIN_DELAY=0", "-s", "DOWNLOAD_DELAY=0")
#: Without cookies, pages take the fast lane.
NO_COOKIES = ("-s", "COOKIES_ENABLED=False")


def run(*command: str, cwd: Path = ROOT, code: int = 0, **environment: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        command, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, timeout=HUNG, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


def requirements(name: str) -> list[str]:
    lines = (ROOT / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith(("#", "-r"))]


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel built from it."""
    folder = tmp_path_factory.mktemp("archives")
    ignored = shutil.ignore_patterns(".*", "__pycache__", "*.egg-info", "build", "dist", "var")
    copy = Path(shutil.copytree(ROOT, folder / "checkout", ignore=ignored, symlinks=True))
    run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(copy), CFLAGS="-O0")
    return folder


@pytest.fixture(scope="module")
def site(archives: Path) -> Path:
    """A folder for PYTHONPATH that holds what the wheel installs, and nothing else: pip would unpack it as well."""
    folder = archives / "site"
    with zipfile.ZipFile(next(archives.glob("*.whl"))) as wheel:
        assert not [name for name in wheel.namelist() if ".data/" in name], "is installed elsewhere"
        wheel.extractall(folder)
    return folder


@pytest.fixture(scope="module")
def new_project(site: Path, turns: Turns) -> Path:
    """What `scrapy startproject` makes, with the line of the README in its settings."""
    turns.run((site.parent, 0, ("startproject", "mine")))
    line = re.search(r"^ADDONS = .*$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert line is not None
    with (site.parent / "mine" / "mine" / "settings.py").open("a", encoding="utf-8") as settings:
        settings.write(f"\n{line[0]}\n")
    return site.parent / "mine"


@pytest.fixture
def project(new_project: Path, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A new Scrapy project where the package is installed."""
    monkeypatch.setenv("PYTHONPATH", str(site))
    return Path(shutil.copytree(new_project, tmp_path / "mine"))


#: Reads lists of command lines of ``scrapy``, a line each, and runs each command in a process forked once Scrapy, the
#: commands of other packages and what crawls use of them, and nothing of this one, are imported; tells exit codes and
#: output.
#: Modules that it is given as arguments cannot be imported: as if they were not installed.
IN_TURN = """
import gc, json, os, sys
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
gc.disable()  # to look for garbage among modules took half of the time
sys.modules |= dict.fromkeys(sys.argv[2:])
import scrapy.cmdline
from scrapy.settings import default_settings
from scrapy.utils.misc import load_object
for value in vars(default_settings).values():
    for path in (*value, *value.values()) if isinstance(value, dict) else (value,):
        if isinstance(path, str) and path.startswith("scrapy."):
            load_object(path)
for name in ("scrapy.crawler", "ada_url", "cachetools", "dns.asyncresolver", "re2", "selectolax.lexbor", "tldextract"):
    import_module(name)
for entry in entry_points(group="scrapy.commands"):
    if not entry.value.startswith("crawlproject."):
        entry.load()
assert not [name for name, module in sys.modules.items() if name.startswith("crawlproject.") and module]
assert "twisted.internet.reactor" not in sys.modules
gc.freeze()
gc.enable()
names = [f"{sys.argv[1]}/{stream}" for stream in ("stdout", "stderr")]
while asked := sys.stdin.readline():
    told = []
    for folder, hidden, arguments in json.loads(asked):
        pid = os.fork()
        if pid == 0:
            if hidden:
                sys.path.remove(hidden)
                os.environ["PYTHONPATH"] = ""
            os.chdir(folder)
            sys.path[0] = folder
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            for descriptor, name in enumerate(names, 1):
                os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), descriptor)
            scrapy.cmdline.execute(["scrapy", *arguments])
            sys.exit()
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        told.append((code, *(Path(name).read_text(encoding="utf-8") for name in names)))
    print(json.dumps(told), flush=True)
"""


class Turns:
    """An environment whose commands of ``scrapy`` start quickly. ``missing`` are modules that are not there."""

    def __init__(self, *missing: str, **environment: str) -> None:
        self._folder = TemporaryDirectory()
        self._process = subprocess.Popen(
            [sys.executable, "-c", IN_TURN, self._folder.name, *missing],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | environment,
        )

    def run(self, *calls: tuple[Path, int, tuple[str, ...]], hidden: Path | str = "") -> list[tuple[str, str]]:
        """Standard output and error of each call: where, the exit code it should have, arguments of ``scrapy``.

        ``hidden``: the folder of PYTHONPATH, to be taken out of it.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        asked = json.dumps([(str(cwd), str(hidden), arguments) for cwd, _, arguments in calls])
        print(asked, file=self._process.stdin, flush=True)
        told = json.loads(self._process.stdout.readline())
        for (_, expected, arguments), (code, out, error) in zip(calls, told, strict=True):
            assert code == expected, (arguments, out, error)
        return [(out, error) for _, out, error in told]

    def __enter__(self) -> Turns:
        return self

    def __exit__(self, *exc: object) -> None:
        self._process.communicate()
        self._folder.cleanup()


@pytest.fixture(scope="module")
def turns(site: Path) -> Iterator[Turns]:
    """Where the package is installed."""
    with Turns(PYTHONPATH=str(site)) as turns:
        yield turns


@pytest.fixture(scope="module")
def bare() -> Iterator[Turns]:
    """A checkout where no module of an extra is installed, and nothing is compiled."""
    with Turns(*MISSING, PYTHONPATH=str(ROOT), SCRAPY_SETTINGS_MODULE="crawlproject.settings") as turns:
        yield turns


def commands_shown(shown: str) -> list[str]:
    return re.findall(r"^  ([a-z]+) ", shown.split("Available commands:")[1], re.MULTILINE)


def test_requirements_are_those_of_the_package() -> None:
    """requirements.txt is the package with all extras; what only an extra needs stands in requirements-dev.txt."""
    assert len(requirements("requirements.txt")) == len(set(requirements("requirements.txt")))
    assert EXTRAS["all"] == ["crawlproject[records,redis,render,repository,simulation,topic]"]
    parts = re.findall(r"\w+", EXTRAS["all"][0])[1:]
    everything = [*PYPROJECT["dependencies"], *(line for part in parts for line in EXTRAS[part])]
    assert set(requirements("requirements.txt")) == set(everything)
    assert set(EXTRAS) == {*parts, "all", "pages", "scrapy-redis"}
    assert {*EXTRAS["pages"][1:], *EXTRAS["scrapy-redis"][1:]} <= set(requirements("requirements-dev.txt"))


#: Names of modules whose distribution is named otherwise.
DISTRIBUTIONS = {
    "ada_url": "ada-url",
    "backports": "backports-zstd",
    "compression": "backports-zstd",  # in Python from 3.14 on
    "dns": "dnspython",
    "prometheus_client": "prometheus-client",
    "pybloom_live": "pybloom-live",
    "pydispatch": "pydispatcher",
    "pythonjsonlogger": "python-json-logger",
    "re2": "google-re2",
    "scrapy_playwright": "scrapy-playwright",
    "scrapy_poet": "scrapy-poet",
    "url_matcher": "url-matcher",
    "web_poet": "web-poet",
}


def test_what_is_imported_is_declared() -> None:
    """In pyproject.toml, or by Scrapy, which this package cannot do without; nothing is there by accident."""
    lines = [*PYPROJECT["dependencies"], *(line for extra in EXTRAS.values() for line in extra)]
    of_scrapy = [line for line in requires("scrapy") or [] if "extra ==" not in line]
    declared = {re.split(r"[^\w.-]", line)[0].lower().replace("_", "-") for line in (*lines, *of_scrapy)}
    imported = set()
    for path in (ROOT / "crawlproject").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for_types = {id(inner) for node in statements(tree) if is_for_types(node) for inner in statements(node)}
        for node in statements(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            imported |= {name.partition(".")[0] for name in names if id(node) not in for_types}
    others = imported - sys.stdlib_module_names - {"crawlproject"}
    assert {DISTRIBUTIONS.get(name, name) for name in others} - declared == set()


def is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and getattr(node.test, "id", "") == "TYPE_CHECKING"


def test_archives_hold_what_they_should(archives: Path) -> None:
    """The sdist: all that a checkout needs; the wheel: the package and its templates; complete metadata."""
    sdist = next(archives.glob("*.tar.gz"))
    with tarfile.open(sdist) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    tracked = run("git", "ls-files").stdout.splitlines() if (ROOT / ".git").exists() else ["requirements.txt"]
    assert {name for name in tracked if not name.startswith(".")} <= names
    with zipfile.ZipFile(next(archives.glob("*.whl"))) as wheel:
        content = wheel.namelist()
        metadata = message_from_bytes(wheel.read(next(name for name in content if name.endswith("/METADATA"))))
    assert {name.split("/")[0].partition("-")[0] for name in content} == {"crawlproject"}
    for part in PARTS:
        assert f"crawlproject/urls/native/{part}.pyx" in content
        built = [
            name for name in content if name.startswith(f"crawlproject/urls/native/{part}.") and name.endswith(".so")
        ]
        assert len(built) == 1 or compiled(part) is None  # where there is a compiler
    assert not [name for name in (*names, *content) if name.endswith(".c")]
    assert not [name for name in names if name.endswith(".so")]
    for field in ("Summary", "Author", "License-Expression", "License-File", "Requires-Python", "Keywords"):
        assert metadata[field], field
    assert metadata["Description-Content-Type"] == "text/markdown"
    assert str(metadata.get_payload()).strip().startswith("# crawlproject")
    assert set(metadata.get_all("Provides-Extra", [])) == set(EXTRAS)


def test_commands_are_there_in_any_project(project: Path, turns: Turns) -> None:
    """`scrapy frontier` and the others, each once, and told from Scrapy's own."""
    told = turns.run(
        (project, 0, ()),
        (project.parent, 0, ()),  # in no project
        (ROOT, 0, ()),  # in this one
        (project.parent, 2, ("workers", "web")),
        (project, 1, ("frontier", str(project))),
        (project, 0, ("simulate", "--help")),
    )
    (_, web), (_, no_frontier), (simulate, _) = told[3:]
    for out, _ in told[:3]:
        names = commands_shown(out)
        assert [names.count(name) for name in OWN_COMMANDS] == [1] * len(OWN_COMMANDS), names
        assert sorted(re.findall(r"^  ([a-z]+) .*\(crawlproject\)$", out, re.MULTILINE)) == sorted(OWN_COMMANDS)
    assert "no spider 'web' in SPIDER_MODULES; known spiders: none" in web
    assert "no frontier" in no_frontier
    assert "--sessions" in simulate


#: A spider that needs no server.
PLAIN_SPIDER = """
import scrapy


class PlainSpider(scrapy.Spider):
    name = "plain"
    start_urls = ["data:,hello"]

    def parse(self, response):
        yield {"text": response.text}
"""

#: Figures of a crawl that differ each time: times and sizes.
CHANGING = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d|datetime\.datetime\([^)]*\)|Password: \w+|:\d{4,5}\b|port \d+ \(job [\w-]+\)"
    r"|(?<='elapsed_time_seconds': )[\d.]+|(?<='memusage/max': )\d+|(?<='memusage/startup': )\d+|memory: \d+"
)


def test_scrapy_is_as_without_this_package_in_a_project_without_the_addon(
    new_project: Path, site: Path, turns: Turns, tmp_path: Path
) -> None:
    """Each command prints the same bytes, and the same log but for times; our commands are all that is added."""
    project = Path(shutil.copytree(new_project, tmp_path / "plain"))
    settings = project / "mine" / "settings.py"
    settings.write_text(re.sub(r"\n# ?ADDONS.*|\nADDONS.*", "", settings.read_text(encoding="utf-8")), encoding="utf-8")
    (project / "mine" / "spiders" / "plain.py").write_text(PLAIN_SPIDER, encoding="utf-8")
    commands = (
        (),
        ("--help",),
        ("list",),
        ("settings", "--get", "BOT_NAME"),
        ("settings", "--get", "FRONTIER_MAX_SESSIONS"),
        ("genspider", "-l"),
        ("genspider", "-d", "basic"),
        ("crawl", "--help"),
        ("parse", "--help"),
        ("crawl", "plain", "-o", "-:jsonlines"),
    )
    calls = [(project, 0, arguments) for arguments in commands]
    calls.append((project, 1, ("crawl", "unknown")))
    calls.append((project, 2, ("crawl", "plain", "-o", "pages.unknown")))
    expected = turns.run(*calls, hidden=site)
    for call, (out, error), (plain_out, plain_error) in zip(calls, turns.run(*calls), expected, strict=True):
        out = "".join(line for line in out.splitlines(keepends=True) if not line.endswith(" (crawlproject)\n"))
        assert out == plain_out, call
        assert CHANGING.sub("N", error) == CHANGING.sub("N", plain_error), call
    assert '{"text": "hello"}' in expected[9][0]


def test_an_ordinary_spider_runs_on_the_frontier(project: Path, turns: Turns) -> None:
    """`pip install`, ADDONS in somebody's settings: a spider that `genspider` makes, and that of docs/spiders.md."""
    with running_web(SMALL) as web:
        turns.run((project, 0, ("genspider", "ordinary", web.seeds[0])))
        spider = project / "mine" / "spiders" / "ordinary.py"
        body = (
            "        yield {'url': response.url, 'response_time': response.meta['response_time']}\n"
            "        yield from response.follow_all(css='a')\n"
        )
        text = spider.read_text(encoding="utf-8").replace("        pass\n", body)
        text = re.sub(r"    allowed_domains = .*\n", "", text)
        spider.write_text(re.sub(r"start_urls = .*\n", f"start_urls = {web.seeds}\n", text), encoding="utf-8")
        run(sys.executable, "-m", "scrapy", "crawl", "ordinary", "-O", "out.jsonl", *NOW, *NO_COOKIES, cwd=project)
        shown = (ROOT / "docs" / "spiders.md").read_text(encoding="utf-8").split("```python\n")[1].split("```")[0]
        (project / "mine" / "spiders" / "books.py").write_text(shown, encoding="utf-8")
        one = ("-a", f"seeds={web.seeds[0]}", "-a", f"allowed={web.seeds[0].split('/')[2]}")
        turns.run((project, 0, ("crawl", "books", *one, "-O", "site.jsonl", *NOW, *NO_COOKIES)))
        pages = [json.loads(line) for line in (project / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    own = [json.loads(line) for line in (project / "site.jsonl").read_text(encoding="utf-8").splitlines()]
    assert len(own) > 1
    assert {page["server"] for page in own} == {web.seeds[0].rstrip("/")}
    assert {page["url"] for page in pages} == set(web.web.expected_urls())
    assert min(page["response_time"] for page in pages) > 0


def test_the_spiders_of_this_package_run_in_any_project(project: Path, turns: Turns) -> None:
    """By the line of docs/own-project.md; without it, or without the add-on, one line says what is missing."""
    [(_, error)] = turns.run((project, 2, ("workers", "topic")))
    assert "no spider 'topic' in SPIDER_MODULES; known spiders: none" in error
    assert "Traceback" not in error
    page = (ROOT / "docs" / "own-project.md").read_text(encoding="utf-8")
    line = re.search(r"^SPIDER_MODULES = .*$", page, re.MULTILINE)
    assert line is not None
    settings = project / "mine" / "settings.py"
    before = settings.read_text(encoding="utf-8")
    settings.write_text(f"{before}\n{line[0].replace('myproject', 'mine')}\n", encoding="utf-8")
    (project / "t.toml").write_text('examples = ["http://127.0.0.1:9/"]', encoding="utf-8")
    with running_web(SMALL) as web:
        seeds = ("-a", f"seeds={','.join(web.seeds)}")
        crawl_web = ("crawl", "web", *seeds)
        keyword = ("crawl", "keyword", "-a", f"start={web.seeds[0]}", "-a", "keyword=page")
        (names, _), _, _, refused, no_topic, no_addon = turns.run(
            (project, 0, ("list",)),
            (project, 0, (*crawl_web, "-O", "web.jsonl", *NOW, *NO_COOKIES)),
            (project, 0, (*keyword, "-O", "found.jsonl", *NOW, *NO_COOKIES)),
            (project, 1, (*crawl_web, *NOW[2:])),
            (project, 1, ("crawl", "topic", "-a", "topic=t.toml", *seeds, *NOW)),
            (project, 1, (*crawl_web, "-s", "ADDONS={}")),
        )
    assert names.split() == ["keyword", "site", "topic", "web"]
    pages = [json.loads(line)["url"] for line in (project / "web.jsonl").read_text(encoding="utf-8").splitlines()]
    assert sorted(pages) == sorted(web.web.expected_urls())
    assert '"level": 1' in (project / "found.jsonl").read_text(encoding="utf-8")
    assert "No seed could be fetched" in refused[1]
    assert "No example of the topic could be read" in no_topic[1]
    assert "Cannot start: the spider web needs ADDONS = {'crawlproject.addon.FrontierAddon': 300}" in no_addon[1]
    assert "Traceback" not in no_addon[1]


def test_the_default_crawl_needs_no_extra(bare: Turns, tmp_path: Path) -> None:
    """The README's crawl, with JOBDIR, duplicates exact and near, and metrics, without compiled parts and the rest."""
    out = tmp_path / "pages.jsonl"
    with running_web(SMALL) as web:
        crawl = ("crawl", "web", "-a", f"seeds={','.join(web.seeds)}", "-o", str(out), "-s", f"JOBDIR={tmp_path}/job")
        [(_, log)] = bare.run((ROOT, 0, (*crawl, *NOW)))
    pages = [json.loads(line)["url"] for line in out.read_text(encoding="utf-8").splitlines()]
    assert sorted(pages) == sorted(web.web.expected_urls())
    assert re.search(rf"^duplicates: .*\bpages {len(pages)}\b", log, re.MULTILINE)
    assert "FRONTIER_DUPLICATES_NEAR takes twenty times the CPU without its part in C" in log
    assert "Traceback" not in log


def test_what_needs_an_extra_says_so(bare: Turns, tmp_path: Path) -> None:
    """One line, and the exit code: commands, and the settings of a crawl before it fetches a page or writes a file."""
    commands = {
        ("simulate",): ("scrapy simulate", "simulation"),
        ("pagerank", "links.tsv"): ("scrapy pagerank", "simulation"),
        ("workers", "web"): ("scrapy workers", "redis"),
        ("repository", "ls", "pages"): ("scrapy repository", "repository"),
    }
    (cwd := tmp_path / "cwd").mkdir()
    crawl = ("crawl", "web", "-a", "seeds=http://127.0.0.1:9/")
    told = bare.run(
        *((cwd, 1, arguments) for arguments in commands), (cwd, 1, (*crawl, "-s", f"FRONTIER_REPOSITORY_DIR={cwd}"))
    )
    errors = [error for _, error in told]
    for (what, extra), error in zip(commands.values(), errors, strict=False):
        line = rf"{what} needs: pip install '\.\[{extra}\]' in crawlproject's checkout, .* \(no module '[\w.]+'\)\n"
        assert re.fullmatch(line, error), error
    assert f"FRONTIER_REPOSITORY_DIR='{cwd}' needs: pip install '.[repository]'" in errors[len(commands)]
    assert list(cwd.iterdir()) == []


def test_only_what_belongs_to_an_extra_imports_it() -> None:
    """A crawl with settings that no test without the extras has runs all the same."""
    package = ROOT / "crawlproject"
    files = (
        "content/shingles.py",
        "options/records.py",
        "content/relevance/words.py",
        "spiders/topic.py",
        "backends/redis.py",
        *(f"records/{name}.py" for name in RECORD_MODULES),
        *(f"commands/{name}.py" for name in REDIS_COMMANDS),
    )
    folders = ("simulation", "repository", "workers")
    optional = {package / name for name in files} | {path for name in folders for path in package.glob(f"{name}/*.py")}
    for path in sorted({*package.rglob("*.py")} - optional):
        assert not [name for name in imports(path) if name.partition(".")[0] in HEAVY], path


def test_a_crawl_starts_with_little() -> None:
    """Before its first page: no module that only some crawls need, though all are installed here."""
    command = (sys.executable, "-X", "importtime", "-m", "scrapy", "crawl", "web", "-a", "seeds=http://127.0.0.1:9/")
    log = run(*command, code=1).stderr  # the address is refused
    lines = (line.split("|") for line in log.splitlines() if line.startswith("import time:"))
    imported = {columns[-1].strip() for columns in lines}
    assert "crawlproject.spiders.web" in imported
    assert not imported.intersection(UNUSED_AT_FIRST)


def test_commands_import_little() -> None:
    """Scrapy imports them for any command in any project of the environment."""
    commands = [f"crawlproject.commands.{name}" for name in OWN_COMMANDS]
    shown = "print(*sorted(name for name in sys.modules if name.startswith('crawlproject.')))"
    program = f"import sys, {', '.join(commands)}\n{shown}"
    imported = run(sys.executable, "-c", program).stdout.split()
    shared = ("commands", "commands.described", "options", "options.extras")
    assert imported == sorted([*commands, *(f"crawlproject.{name}" for name in shared)])


@pytest.mark.long
def test_a_plain_install_is_small_and_crawls(archives: Path, tmp_path: Path) -> None:
    """By pip into a new environment, from wherever pip installs from: size, the default crawl, what is missing."""
    run(sys.executable, "-m", "venv", str(tmp_path / "venv"))
    python = str(tmp_path / "venv" / "bin" / "python")
    packages = next((tmp_path / "venv" / "lib").glob("python*/site-packages"))
    scrapy = next(line for line in PYPROJECT["dependencies"] if line.startswith("scrapy"))
    sizes = []
    for what in (scrapy, str(next(archives.glob("*.whl")))):
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", what)
        sizes.append({path.name: size_of(path) for path in packages.iterdir()})
    added = {name: size for name, size in sizes[1].items() if name not in sizes[0]}
    assert sum(added.values()) <= MAX_MEGABYTES_ADDED * 2**20, sorted(added.items(), key=lambda item: -item[1])[:10]
    with running_web(SMALL) as web:
        crawl = ("crawl", "web", "-a", f"seeds={','.join(web.seeds)}", "-O", "pages.jsonl", "-s", "JOBDIR=job")
        settings = {"SCRAPY_SETTINGS_MODULE": "crawlproject.settings"}
        run(python, "-m", "scrapy", *crawl, *NOW, cwd=tmp_path, **settings)
        pages = (tmp_path / "pages.jsonl").read_text(encoding="utf-8").splitlines()
    assert sorted(json.loads(line)["url"] for line in pages) == sorted(web.web.expected_urls())
    assert ".[simulation]" in run(python, "-m", "scrapy", "simulate", cwd=tmp_path, code=1).stderr


def size_of(path: Path) -> int:
    """Bytes on disk, as du counts them."""
    files = [path, *path.rglob("*")]
    return sum(file.lstat().st_blocks * 512 for file in files)
