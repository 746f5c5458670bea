"""The Redis server of the tests: its start and end, its data after a kill."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import redis

from testbed import redis_server
from testbed.redis_server import RedisServerError, RunningRedis
from tests.waiting import until

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.usefixtures("redis_program")


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_server_dies_with_its_parent(tmp_path: Path) -> None:
    """Also when that is killed; only its directory stays."""
    code = """if True:
        from testbed.redis_server import RunningRedis
        with RunningRedis() as server:
            print(server.pid, flush=True)
            input()
    """
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, env=environment, text=True, **pipes) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert is_alive(pid)
        parent.kill()
    until(lambda: not is_alive(pid))


@pytest.mark.parametrize("unix", [False, True])
def test_kill_with_append_only_file_keeps_the_data(unix: bool) -> None:
    """At the same address, what was written before the kill is there; the process is another."""
    with RunningRedis(aof=True, unix=unix) as server:
        client = server.client()
        client.set("a", 1)
        client.execute_command("CONFIG", "SET", "appendfsync", "always")  # or up to two seconds may be missing
        client.set("b", 2)
        pid, url = server.pid, server.url
        server.kill()
        with pytest.raises(redis.ConnectionError):
            client.get("a")
        server.restart()
        assert (server.url, client.get("a"), client.get("b")) == (url, b"1", b"2")
        assert server.pid != pid
        assert not is_alive(pid)


def test_server_that_cannot_start_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    """The end of its log is in the error, or what it said."""
    monkeypatch.setattr(redis_server, "PORT_TRIES", 2)
    with pytest.raises(RedisServerError, match="did not start"):
        RunningRedis(config=["no-such-option 1"]).__enter__()
