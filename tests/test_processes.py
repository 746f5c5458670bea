"""Forked processes behave like processes from scratch."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryFile

from tests.processes import Forked, run_python

SHOW = """
import os, random, resource, signal, sys, threading
print(sys.argv[1:], sys.path[0], os.getcwd(), sorted(os.environ), os.environ["MINE"], sys.stdin.read())
print(__name__, signal.getsignal(signal.SIGINT), threading.active_count(), sorted(os.listdir("/proc/self/fd")))
print("twisted.internet.reactor" in sys.modules, file=sys.stderr)
threading.Timer(0.05, lambda: print("a thread that is waited for")).start()
sys.exit(7)
"""


def test_a_forked_process_is_like_one_from_scratch(tmp_path: Path) -> None:
    """Arguments, paths, environment, streams, open files, signals, threads, exit code."""
    (tmp_path / "show.py").write_text(SHOW)
    environment = {"MINE": "1", "PATH": "/bin", "LC_CTYPE": "C.UTF-8"}
    given = {"cwd": tmp_path, "env": environment, "input": "typed"}
    forked = run_python("show.py", "a", "b", **given)
    fresh = subprocess.run(
        [sys.executable, "show.py", "a", "b"],
        **given,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),  # a background job ignores it
    )
    assert (forked.returncode, forked.stderr) == (7, "False\n") == (fresh.returncode, fresh.stderr)
    assert forked.stdout == fresh.stdout


START = """
import os, signal, subprocess, sys
def prepare():
    os.setpriority(os.PRIO_PROCESS, 0, 3)
    signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, lambda *_: None)
print("not yet written")
streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
options = {"process_group": 0, "preexec_fn": prepare, "env": {"MINE": "1"}, "text": True, **streams}
with subprocess.Popen([sys.executable, "-m", "show", "a"], **options) as process:
    print("held back", process.communicate("typed"), process.returncode)
    print(os.getpid() == int(open("parent").read()))
"""


def test_what_a_forked_process_starts_is_like_one_from_scratch(tmp_path: Path) -> None:
    """As above; its parent, priority, process group, and signals that the parent handles."""
    more = """
open("parent", "w").write(str(os.getppid()))
print(os.getpriority(os.PRIO_PROCESS, 0), os.getpgid(0) == os.getpid(), signal.getsignal(signal.SIGTERM))
"""
    (tmp_path / "show.py").write_text(SHOW.replace("sys.exit", more + "sys.exit").replace(", sorted(os.environ)", ""))
    (tmp_path / "start.py").write_text(START)
    forked = run_python("start.py", cwd=tmp_path)
    fresh = subprocess.run([sys.executable, "start.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (forked.returncode, forked.stderr) == (0, "") == (fresh.returncode, fresh.stderr)
    assert forked.stdout == fresh.stdout
    assert "\\n3 True 0\\n" in forked.stdout
    assert forked.stdout.endswith(" 7\nTrue\n")


def test_a_forked_process_can_be_killed(tmp_path: Path) -> None:
    """By its own pid; what it wrote can be read."""
    (tmp_path / "wait.py").write_text("import os, time\nos.write(2, b'here')\nos.write(1, b'.')\ntime.sleep(600)")
    reading, writing = os.pipe()
    with TemporaryFile() as log, os.fdopen(reading, "rb") as started, os.fdopen(writing, "wb") as stdout:
        process = Forked([str(tmp_path / "wait.py")], stdout=stdout, stderr=log)
        assert started.read(1) == b"."
        assert process.poll() is None
        process.kill()
        assert process.wait() == -signal.SIGKILL
        assert process.communicate() == (None, "here")
        process.kill()  # no more
    assert not Path(f"/proc/{process.pid}").exists()
