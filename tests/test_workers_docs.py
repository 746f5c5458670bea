"""docs/workers.md and docs/from-scrapy-redis.md, command by command."""

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import scrapy_redis
from redis import Redis

from crawlproject.commands.private_redis import PrivateRedis, find_server
from testbed.web import WebSpec, running_web
from tests.commands.private_server import private_server
from tests.pages import ROOT, blocks, commands, page
from tests.processes import forked_scrapy, run_python

WORKERS = page("workers.md")
MOVING = page("from-scrapy-redis.md")
URL = "redis://localhost:6379/0"
WEB = WebSpec(servers=4, pages=40, time_scale=0)
#: Without cookies, pages take the fast lane.
ON_LOOPBACK = "-s FRONTIER_ALLOWED_NETWORKS=127.0.0.0/8 -s FRONTIER_MIN_DELAY=0 -s COOKIES_ENABLED=False"
needs_cli = pytest.mark.skipif(shutil.which("redis-cli") is None, reason="no redis-cli on PATH")


def settings_of_scrapy_redis() -> set[str]:
    assert scrapy_redis.__file__
    sources = "".join(path.read_text(encoding="utf-8") for path in Path(scrapy_redis.__file__).parent.glob("*.py"))
    assert "SETTINGS_PARAMS_MAP" in sources
    return {name for name in re.findall(r'"([A-Z]+(?:_[A-Z]+)+)"', sources) if name != "CONCURRENT_REQUESTS"}


def test_every_setting_of_scrapy_redis_is_in_the_table() -> None:
    """With what becomes of it."""
    names = settings_of_scrapy_redis()
    assert {"REDIS_URL", "SCHEDULER_PERSIST", "REDIS_START_URLS_AS_ZSET", "MAX_IDLE_TIME_BEFORE_CLOSE"} <= names
    table = MOVING.split("## Setting by setting")[1].split("\n## ")[0]
    assert {name for name in names if f"`{name}`" not in table} == set()


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd-analyze")
def test_systemd_understands_the_unit(tmp_path: Path) -> None:
    """Every key, and a template that can be started."""
    [unit] = blocks(WORKERS, "ini")
    path = tmp_path / "crawlproject-worker@.service"
    path.write_text(unit.replace("/srv/crawlproject/.venv/bin/scrapy", "/bin/true"))
    done = subprocess.run(["systemd-analyze", "verify", str(path)], capture_output=True, text=True, check=False)
    assert [line for line in done.stderr.splitlines() if path.name in line] == []


@pytest.fixture
def server(redis_program: Path) -> Iterator[PrivateRedis]:
    with private_server() as server:
        yield server


@pytest.fixture
def project(tmp_path: Path, server: PrivateRedis) -> Path:
    """The reader's project with the settings and the spider of the page, and the pipeline of scrapy-redis."""
    project = tmp_path / "mine"
    environment = {name: value for name, value in os.environ.items() if name != "SCRAPY_SETTINGS_MODULE"}
    done = run_python("-m", "scrapy", "startproject", "mine", str(project), env=environment)
    assert done.returncode == 0, done.stderr
    settings, spider = blocks(MOVING, "python")
    settings = settings.replace(URL, server.url)
    pipeline = 'ITEM_PIPELINES = {"scrapy_redis.pipelines.RedisPipeline": 300}\nDOWNLOAD_DELAY = 0\n'
    with (project / "mine" / "settings.py").open("a", encoding="utf-8") as file:
        file.write(f"\n{settings}{pipeline}")
    spider = spider.replace("max_idle_time = 10", "max_idle_time = 1")
    (project / "mine" / "spiders" / "books.py").write_text(spider, encoding="utf-8")
    return project


def type_in(line: str, cwd: Path, server: PrivateRedis) -> str:
    """Run a line of a page in a shell; its Redis is ``server``, its ``scrapy`` is forked."""
    typed = re.sub(rf"redis-cli -u {re.escape(URL)}", f"redis-cli -s {server.url.removeprefix('unix://')}", line)
    typed = typed.replace("redis://redis.example.org:6379/0", server.url)
    cli = shutil.which("redis-cli") or str(Path(find_server()).with_name("redis-cli"))
    with TemporaryDirectory() as programs:
        forked_scrapy(Path(programs))
        path = f"{programs}:{Path(cli).parent}:{os.environ['PATH']}"
        environment = {name: value for name, value in os.environ.items() if name != "SCRAPY_SETTINGS_MODULE"}
        done = subprocess.run(
            ["bash", "-ec", typed],
            cwd=cwd, env=environment | {"PATH": path}, capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@needs_cli
def test_a_spider_of_scrapy_redis_runs_unchanged(project: Path, server: PrivateRedis) -> None:
    """Start URLs, spider and item pipeline of scrapy-redis, on the frontier."""
    _, push, run, *_ = commands(MOVING)
    with running_web(WEB) as web:
        type_in(push.replace("https://example.org/", web.seeds[0]), project, server)
        log = type_in(f"{run} {ON_LOOPBACK}", project, server)
        expected = set(web.web.expected_urls())
    pages = [json.loads(line)["url"] for line in (project / "books.jsonl").read_text(encoding="utf-8").splitlines()]
    assert set(pages) == expected, log
    assert len(pages) - len(expected) in (0, 1), "scrapy-redis does not filter start URLs"
    assert "crawlproject.scheduler.FrontierScheduler" in log
    client = Redis.from_url(server.url)
    items = client.lrange("books:items", 0, -1)
    assert client.llen("books:start_urls") == 0
    client.close()
    assert sorted(json.loads(item)["url"] for item in items) == sorted(pages)  # type: ignore[union-attr]


@needs_cli
def test_a_crawl_is_deleted_without_others(server: PrivateRedis, tmp_path: Path) -> None:
    """The last two commands: all keys of the crawl, those of its partitions among them."""
    client = Redis.from_url(server.url)
    others = {b"{booksellers}:meta", b"{booksellers:7}:m", b"books:start_urls", b"books:items"}
    for key in ("{books}:meta", "{books}:info", "{books:7}:m", "{books:255}:s:1", *(key.decode() for key in others)):
        client.set(key, "1")
    for line in commands(MOVING)[-2:]:
        type_in(line, tmp_path, server)
    left = set(client.keys("*"))  # type: ignore[arg-type]
    client.close()
    assert left == others


def test_workers_of_the_page_share_a_crawl(tmp_path: Path, server: PrivateRedis) -> None:
    """One machine, then many: every page once in the files of the workers."""
    shutil.copy(ROOT / "scrapy.cfg", tmp_path)
    on_one, on_many = commands(WORKERS)
    for number, lines in enumerate(([on_one.replace("-n 4", "-n 2")], [f"({on_many}) & {on_many}; wait $!"])):
        folder = tmp_path / str(number)
        folder.mkdir()
        shutil.copy(ROOT / "scrapy.cfg", folder)
        with running_web(WEB) as web:
            (folder / "seeds.txt").write_text("\n".join(web.seeds))
            for line in lines:
                type_in(re.sub(r"seeds=seeds\.txt", rf"\g<0> {ON_LOOPBACK}", line), folder, server)
            pages = [json.loads(line) for path in folder.glob("pages*.jsonl") for line in path.read_text().splitlines()]
            assert sorted(page["url"] for page in pages) == sorted(web.web.expected_urls())
