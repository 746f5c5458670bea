"""The Redis server of the tests: its start and end, its data after a kill."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

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
