"""Redis servers for tests: one on a Unix socket for all, others as a test wants them."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from crawlproject.commands.private_redis import PrivateRedisError, find_server
from testbed.children import free_port

#: Starts a server with the given arguments.
Start = Callable[..., "Server"]


@dataclass(frozen=True)
class Server:
    """A running server."""

    folder: Path
    #: 0: it listens on its Unix socket only.
    port: int

    @property
    def socket(self) -> Path:
        return self.folder / "s"

    @property
    def log(self) -> Path:
        return self.folder / "log"

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"


def redis_server() -> str:
    """Path of the program that ``scrapy workers`` would start. Skips the test if there is none."""
    try:
        return find_server()
    except PrivateRedisError:
        pytest.skip("no redis-server or valkey-server is installed")


@contextmanager
def running(*arguments: str, tcp: bool = False) -> Iterator[Server]:
    """A server until the end of the block, if ``tcp`` also on a port; ``{port}`` in ``arguments`` is that port.

    Skips the test if the program lacks TLS and needs it.
    """
    with tempfile.TemporaryDirectory(prefix="redis") as name:  # short: a socket's path has at most 107 characters
        for _ in range(10):
            server = Server(Path(name), free_port() if tcp else 0)
            with server.log.open("w") as log:
                process = subprocess.Popen(_command(server, *arguments), stdout=log, stderr=log)
            try:
                if _is_up(server, process):
                    yield server
                    return
            finally:
                process.kill()
                process.wait()
            output = server.log.read_text()
            if ("Bad directive" in output and "tls-port" in output) or "Failed finding TLS support" in output:
                pytest.skip("redis-server has no TLS")
            if not tcp or "in use" not in output:
                raise AssertionError(output)


def _command(server: Server, *arguments: str) -> list[str]:
    options = [argument.replace("{port}", str(server.port)) for argument in arguments]
    if "--tls-port" not in arguments:
        options += ["--port", str(server.port)]
    folder = ["--dir", str(server.folder), "--unixsocket", str(server.socket)]
    return [redis_server(), *options, *folder]


def _is_up(server: Server, process: subprocess.Popen[bytes]) -> bool:
    """Wait until the server answers; False if it ends instead."""
    while process.poll() is None:
        if answers(server):
            return True
        time.sleep(0.01)
    return False


def answers(server: Server) -> bool:
    try:
        with redis.Redis(unix_socket_path=str(server.socket), retry=Retry(NoBackoff(), 0)) as client:
            client.execute_command("PING")
    except redis.AuthenticationError:
        return True
    except redis.RedisError:
        return False
    return True


@pytest.fixture(scope="session")
def shared_server() -> Iterator[Server]:
    """A server with its defaults, for tests that change nothing in it."""
    with running() as server:
        yield server


@pytest.fixture
def start() -> Iterator[Start]:
    with ExitStack() as stack:

        def start_one(*arguments: str, tcp: bool = False) -> Server:
            return stack.enter_context(running(*arguments, tcp=tcp))

        yield start_one
