"""A private Redis server for a test or a benchmark: can be killed, restarted on the same data, and measured."""

from __future__ import annotations

import signal
import socket
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import redis

from crawlproject.commands.private_redis import find_server
from testbed.children import free_port, own_address, start_child

if TYPE_CHECKING:
    from collections.abc import Iterable

#: Seconds after which a server that does not answer is taken to hang, on a machine that is very busy.
TIMEOUT = 120.0
PORT_TRIES = 20
POLL = 0.01


class RedisServerError(RuntimeError):
    """The server did not start; the message ends with its log."""


class RunningRedis:
    """A server from the start to the end of a ``with`` block; its data is in a temporary directory.

    ``aof``: append-only file, synced every second. ``unix``: a Unix socket instead of a TCP port. ``maxmemory``: bytes,
    0: no limit. ``config``: further lines of its configuration. Raises `RedisServerError` if it does not start,
    PrivateRedisError if there is no program.
    """

    def __init__(  # noqa: PLR0913 - the options of a server
        self,
        *,
        aof: bool = False,
        unix: bool = False,
        password: str = "",
        maxmemory: int = 0,
        config: Iterable[str] = (),
        program: Path | None = None,
    ) -> None:
        # not what a link points to: the program acts by its name
        self._program = (program or Path(find_server())).absolute()
        self._aof, self._password, self._maxmemory, self._config = aof, password, maxmemory, tuple(config)
        # the path of a Unix socket may have 107 bytes
        self._folder = tempfile.TemporaryDirectory(prefix="redis-", dir="/tmp" if unix else None)
        self.folder = Path(self._folder.name)
        self.socket_path = self.folder / "redis.sock" if unix else None
        self.host, self.port = ("", 0) if unix else (own_address(), 0)
        self._process: subprocess.Popen[bytes] | None = None
        self._clients: list[redis.Redis] = []

    @property
    def url(self) -> str:
        """Address and password, for ``REDIS_URL``."""
        login = f":{quote(self._password, safe='')}@" if self._password else ""
        if self.socket_path is not None:
            return f"unix://{login}{self.socket_path}?db=0"
        return f"redis://{login}{self.host}:{self.port}/0"

    @property
    def pid(self) -> int:
        """Of the running server; raises `RedisServerError` if it does not run."""
        return self._running().pid

    def client(self, **options: Any) -> redis.Redis:
        """A synchronous client, closed at the end of the block; ``options`` go to ``redis.Redis``."""
        client = redis.Redis.from_url(self.url, **options)
        self._clients.append(client)
        return client

    def info(self, section: str = "default") -> dict[str, Any]:
        """The answer to INFO."""
        with redis.Redis.from_url(self.url) as client:
            answer: dict[str, Any] = client.info(section)
        return answer

    def cpu_time(self) -> float:
        """CPU seconds (user and system) since its last start."""
        used = self.info("cpu")
        return float(used["used_cpu_user"] + used["used_cpu_sys"])

    def log(self) -> str:
        path = self.folder / "redis.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def start(self) -> None:
        """Start it, on the data and the port that it had before; returns when it answers."""
        assert self._process is None, "it runs"
        has_port = bool(self.port or self.socket_path)
        for _ in range(1 if has_port else PORT_TRIES):
            if not has_port:
                self.port = free_port(self.host)
            self._launch()
            if self._answers():
                return
            self._ended()
        raise RedisServerError(f"the Redis server did not start:\n{self.log()[-2000:]}")

    def kill(self) -> None:
        """``kill -9``; no effect on a server that has ended."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """SIGTERM: it writes its data and ends; no effect on a server that has ended."""
        self._end(signal.SIGTERM)

    def restart(self) -> None:
        """Start it again; stops it before if it runs."""
        self.stop()
        self.start()

    def __enter__(self) -> RunningRedis:
        try:
            self.start()
        except BaseException:
            self._folder.cleanup()
            raise
        return self

    def __exit__(self, *exc: object) -> None:
        for client in self._clients:
            client.close()
        self.kill()
        self._folder.cleanup()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise RedisServerError("the Redis server does not run")
        return self._process

    def _launch(self) -> None:
        path = self.folder / "redis.conf"
        path.write_text("\n".join([*self._lines(), *self._config, ""]))
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = start_child([str(self._program), str(path)], cwd=self.folder, **streams)

    def _lines(self) -> list[str]:
        """Its configuration; a later line overrides an earlier one."""
        return [
            f"bind {self.host}" if self.host else f"unixsocket {self.socket_path}",
            f"port {self.port}",
            "protected-mode no",
            f"dir {self.folder}",
            f"logfile {self.folder / 'redis.log'}",
            'save ""',
            f"appendonly {'yes' if self._aof else 'no'}",
            "appendfsync everysec",
            f"maxmemory {self._maxmemory}",
            *([f'requirepass "{self._password}"'] if self._password else []),
        ]

    def _answers(self) -> bool:
        """Wait until it answers; False if it has ended."""
        deadline = time.monotonic() + TIMEOUT
        while self._running().poll() is None and time.monotonic() < deadline:
            if self._ping():
                return True
            time.sleep(POLL)
        return False

    def _ping(self) -> bool:
        """Whether it answers PING by anything except that it is loading; a refusal without password is an answer."""
        unix = self.socket_path
        family, target = (socket.AF_UNIX, str(unix)) if unix else (socket.AF_INET, (self.host, self.port))
        with socket.socket(family, socket.SOCK_STREAM) as sock:
            sock.settimeout(TIMEOUT)
            try:
                sock.connect(target)
                sock.sendall(b"PING\r\n")
                answer = sock.recv(100)
            except OSError:
                return False
        return answer.startswith((b"+PONG", b"-NO"))

    def _end(self, number: signal.Signals) -> None:
        if self._process is None:
            return
        self._process.send_signal(number)
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(TIMEOUT)
        self._ended()

    def _ended(self) -> None:
        """Forget the process, which is dead after this."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait()
