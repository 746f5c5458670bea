"""Python processes without the wait for imports: a server that has imported what a crawl needs forks one for each.

``Forked`` has the methods of ``subprocess.Popen`` that tests use, ``run_python`` is its ``subprocess.run``::

    run_python("-m", "scrapy", "list")                       # forked: 0.05 s
    subprocess.run([sys.executable, "-m", "scrapy", "list"])  # a process from scratch: 1 s

A forked process has its own working directory, environment, arguments, standard streams, signals and memory.  It shares
with the server the interpreter's options, ``PYTHON*`` variables and the seed of ``hash``; where those matter, start
one from scratch.  What a forked process without a reactor starts by ``python -m`` is forked, too: workers, runs of
a bench.  The server starts with the first fork and ends when pytest does; the processes of pytest-xdist share one, see
``share_server``.  It forks further servers, which import more, for commands of ``scrapy`` and for simulations:
a crawl's memory does not depend on the tests before it.
"""

from __future__ import annotations

import atexit
import gc
import importlib
import inspect
import json
import logging
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO, Any, NoReturn

ROOT = Path(__file__).resolve().parents[1]

#: Seconds after which a command is considered hung.  Polite waits are multiples of measured times: a machine with a
#: load of 27 made a crawl of 20 s last 300.
HUNG = 1_800.0

#: Environment variable: path of the socket of the server that the processes of pytest-xdist share.
SHARED = "TEST_FORK_SERVER"

#: ``scrapy``, forked; it needs 0.05 s of CPU itself.
PROGRAM = """#!{python} -IS
import os, sys
sys.path.insert(0, {root!r})
from tests.processes import Forked
streams = dict(stdin=sys.stdin, stdout=sys.stdout, stderr=sys.stderr)
code = Forked(["-m", "scrapy", *sys.argv[1:]], cwd=os.getcwd(), **streams).wait()
sys.exit(code if code >= 0 else 128 - code)
"""

#: Modules of crawlproject that no crawl needs, and that take long to import.
NOT_PRELOADED = ("crawlproject.commands", "crawlproject.simulation")


class Forked:
    """A process of ``python ARGUMENTS``, forked; ``arguments``: ``-m MODULE ...`` or ``FILE ...``.

    ``stdin``, ``stdout`` and ``stderr`` are open files; ``None``: nothing is read, what is written is lost.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        stdin: IO[Any] | None = None,
        stdout: IO[Any] | None = None,
        stderr: IO[Any] | None = None,
        cwd: str | Path = ROOT,
        env: Mapping[str, str] | None = None,
    ) -> None:
        self.args = [sys.executable, *arguments]
        self.returncode: int | None = None
        self._stderr = stderr
        self._lock = threading.Lock()
        job = {"arguments": list(arguments), "cwd": str(cwd), "env": dict(os.environ if env is None else env)}
        self._server, theirs = socket.socketpair()
        with theirs, Path(os.devnull).open("r+b") as null:
            streams = [(null if stream is None else stream).fileno() for stream in (stdin, stdout, stderr)]
            socket.send_fds(_ask_server(), [_kind(arguments).encode()], [*streams, theirs.fileno()])
        self._messages = self._server.makefile("r")
        self._server.sendall(json.dumps(job).encode() + b"\n")
        self.pid = self._read_number()

    def poll(self) -> int | None:
        """The exit code, -N after signal N; None while the process runs."""
        with suppress(subprocess.TimeoutExpired):
            return self.wait(0)
        return None

    def wait(self, timeout: float | None = HUNG) -> int:
        """Wait for the end; returns the exit code. Raises ``subprocess.TimeoutExpired`` after ``timeout`` seconds."""
        with self._lock:
            if self.returncode is None:
                with selectors.DefaultSelector() as selector:
                    selector.register(self._server, selectors.EVENT_READ)
                    if not selector.select(timeout):
                        raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
                self.returncode = self._read_number()
                self._messages.close()
                self._server.close()
        return self.returncode

    def _read_number(self) -> int:
        line = self._messages.readline()
        if not line:
            raise RuntimeError("the fork server has ended")
        return int(line)

    def communicate(self, timeout: float | None = HUNG) -> tuple[None, str | None]:
        """Wait for the end; returns None and what the process wrote to its standard error, if that is a file."""
        self.wait(timeout)
        if self._stderr is None or self._stderr.closed:
            return None, None
        return None, _read(self._stderr).decode(errors="replace")

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has ended since
                os.kill(self.pid, number)

    def kill(self) -> None:
        """``kill -9``."""
        self.send_signal(signal.SIGKILL)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def __enter__(self) -> Forked:
        return self

    def __exit__(self, *exc: object) -> None:
        self.wait()


class Piped(Forked):
    """``subprocess.Popen(command, stdin=PIPE, stdout=PIPE, text=True)`` of Python, forked. Its errors go to ours."""

    def __init__(self, command: Sequence[str], **_: object) -> None:
        theirs, ours = os.pipe()
        self.stdin = open(ours, "w", encoding="utf-8")  # noqa: PTH123, SIM115
        ours, written = os.pipe()
        self.stdout = open(ours, encoding="utf-8")  # noqa: PTH123, SIM115
        with open(theirs, "rb") as stdin, open(written, "wb") as stdout:  # noqa: PTH123
            super().__init__(command[1:], stdin=stdin, stdout=stdout, stderr=sys.__stderr__)

    def __exit__(self, *exc: object) -> None:
        self.stdout.close()
        with suppress(BrokenPipeError):
            self.stdin.close()
        super().__exit__(*exc)


def run_python(
    *arguments: str,
    input: str | None = None,
    timeout: float = HUNG,
    cwd: str | Path = ROOT,
    env: Mapping[str, str] | None = None,
    text: bool = True,
) -> subprocess.CompletedProcess[Any]:
    """Run ``python ARGUMENTS`` to its end; returns exit code and output, as text or bytes."""
    with TemporaryFile() as stdin, TemporaryFile() as stdout, TemporaryFile() as stderr:
        stdin.write((input or "").encode())
        stdin.seek(0)
        with running(arguments, stdin=stdin, stdout=stdout, stderr=stderr, cwd=cwd, env=env) as process:
            code = process.wait(timeout)
        written = [_read(stream) for stream in (stdout, stderr)]
    told = [one.decode() for one in written] if text else written
    return subprocess.CompletedProcess(process.args, code, *told)


def forked_scrapy(folder: Path) -> None:
    """Make the program ``scrapy`` in ``folder``, for the ``PATH`` of a shell: each call is forked."""
    _ask_server()  # the shell's environment tells where it is
    program = folder / "scrapy"
    program.write_text(PROGRAM.format(python=sys.executable, root=str(ROOT)), encoding="utf-8")
    program.chmod(0o755)


@contextmanager
def running(arguments: Sequence[str], **streams: Any) -> Iterator[Forked]:
    """A forked process; it is killed if the block leaves it running."""
    process = Forked(arguments, **streams)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def _read(stream: IO[bytes]) -> bytes:
    """All of a file; its position is the one that the process writes at, and stays."""
    return os.pread(stream.fileno(), os.fstat(stream.fileno()).st_size, 0)


_starting = threading.Lock()


def _ask_server() -> socket.socket:
    """The socket to ask the server for forks: a message with four file descriptors each."""
    with _starting:
        return _start_server()


@cache
def _start_server() -> socket.socket:
    if SHARED not in os.environ:
        share_server()
    ours = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.connect(os.environ[SHARED])
    atexit.register(ours.close)
    return ours


def share_server() -> None:
    """Start a server for the processes that this one is about to start: each of its own would import for 2 s or more.

    It ends with this process, and what they have left running then.
    """
    folder = TemporaryDirectory(prefix="fork-server-")
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    listener.bind(f"{folder.name}/socket")
    listener.listen()
    atexit.register(folder.cleanup)
    _run_server(*socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET), listener)
    os.environ[SHARED] = f"{folder.name}/socket"


def _run_server(ours: socket.socket, theirs: socket.socket, *listeners: socket.socket) -> None:
    """Start a server, which is asked at ``theirs``, and at connections to ``listeners``, until ``ours`` is closed."""
    given = [each.detach() for each in (theirs, *listeners)]
    server = subprocess.Popen(
        [sys.executable, "-W", "ignore::ResourceWarning", "-m", "tests.processes", *map(str, given)],
        pass_fds=given,
        stdin=subprocess.DEVNULL,
        cwd=ROOT,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},  # a process with threads must not fork
    )
    for descriptor in given:
        os.close(descriptor)

    def stop() -> None:
        ours.close()
        server.wait()

    atexit.register(stop)


def _kind(arguments: Sequence[str]) -> str:
    """Which of ``PRELOADS`` the process needs."""
    if list(arguments[:2]) != ["-m", "scrapy"]:
        return "crawl"
    return "simulation" if arguments[2:] and arguments[2] in ("simulate", "pagerank") else "command"


def serve(asked: socket.socket, *listeners: socket.socket, kind: str = "crawl") -> None:
    """Fork when asked to, tell how each process ended, until the other side closes; then kill what is left.

    Whoever connects to ``listeners`` may ask as well.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for pytest
    gc.disable()  # what is imported is no garbage: it takes half as long without looking for some
    PRELOADS[kind]()
    assert "twisted.internet.reactor" not in sys.modules
    assert len([*Path("/proc/self/task").iterdir()]) == 1, "a process with threads must not fork"
    gc.freeze()
    gc.enable()
    others: dict[str, tuple[int, socket.socket]] = {}
    with selectors.DefaultSelector() as selector:
        for each in (asked, *listeners):
            selector.register(each, selectors.EVENT_READ)
        while asked.fileno() >= 0:
            for key, _ in selector.select():
                if key.data is not None:
                    selector.unregister(key.fd)
                    os.close(key.fd)
                    _report(*key.data)
                elif key.fileobj in listeners:
                    selector.register(key.fileobj.accept()[0], selectors.EVENT_READ)
                elif not _fork(key.fileobj, selector, kind, others):
                    selector.unregister(key.fileobj)
                    key.fileobj.close()
        for key in list(selector.get_map().values()):
            if key.data is not None:
                os.kill(key.data[0], signal.SIGKILL)
    for pid, other in others.values():
        other.close()
        os.waitpid(pid, 0)


def _fork(
    asked: socket.socket, selector: selectors.BaseSelector, kind: str, others: dict[str, tuple[int, socket.socket]]
) -> bool:
    message, streams, _, _ = socket.recv_fds(asked, 16, 4)
    if not message:
        return False
    wanted = message.decode()
    if wanted != kind:
        if wanted not in others:
            others[wanted] = _fork_server(wanted)
        socket.send_fds(others[wanted][1], [message], streams)
        for stream in streams:
            os.close(stream)
        return True
    pid = os.fork()
    if pid == 0:
        asked.close()
        selector.close()
        _live(streams)
    for stream in streams[:3]:
        os.close(stream)
    selector.register(os.pidfd_open(pid), selectors.EVENT_READ, (pid, streams[3]))
    return True


def _fork_server(kind: str) -> tuple[int, socket.socket]:
    """A server of another kind: its process and the socket to ask it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    pid = os.fork()
    if pid == 0:
        try:
            os.dup2(theirs.fileno(), 3)
            os.closerange(4, 4096)
            serve(socket.socket(fileno=3), kind=kind)
        except BaseException:  # noqa: BLE001 - nothing may go back to the loop of the first server
            traceback.print_exc()
        finally:
            os._exit(0)
    theirs.close()
    return pid, ours


def _report(pid: int, client: int) -> None:
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    with suppress(BrokenPipeError):
        os.write(client, b"%d\n" % code)
    os.close(client)


def _live(streams: list[int]) -> NoReturn:
    """The life of the forked process."""
    code = 1
    try:
        with socket.socket(fileno=streams[3]) as client, client.makefile("rw") as messages:
            job = json.loads(messages.readline())
            messages.write(f"{os.getpid()}\n")
            messages.flush()
        for number, stream in enumerate(streams[:3]):
            os.dup2(stream, number)
        os.closerange(3, 4096)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        os.environ.clear()
        os.environ.update(job["env"])
        os.chdir(job["cwd"])
        time.tzset()
        _fork_instead()
        code = _run(job["arguments"])
    except BaseException:  # noqa: BLE001 - nothing may go back to the server's loop
        traceback.print_exc()
    finally:
        _end(code)


def _fork_instead() -> None:
    """What this process starts has imported what it has: workers of ``scrapy workers``, processes of a simulation."""
    subprocess.Popen = _Popen  # type: ignore[misc]
    if "multiprocessing.context" in sys.modules:
        contexts = sys.modules["multiprocessing.context"]._concrete_contexts
        contexts["spawn"] = contexts["fork"]


def _end(code: int) -> NoReturn:
    with suppress(Exception):
        threading._shutdown()
        atexit._run_exitfuncs()
    with suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


class _Popen(subprocess.Popen[Any]):
    """Of a forked process: ``python -m MODULE ...``, as ``scrapy workers`` starts it, is forked as well.

    Not once there is a reactor: the other process could not install its own.

    It happens where a process from scratch would call ``exec``: standard streams, process group and what
    ``preexec_fn`` does are those of ``subprocess``.
    """

    def __init__(self, command: Sequence[str], **options: Any) -> None:
        prepare, env = options.get("preexec_fn"), options.get("env")
        if list(command[:2]) == [sys.executable, "-m"] and "twisted.internet.reactor" not in sys.modules:

            def live() -> None:
                if prepare is not None:
                    prepare()
                _live_again(list(command[1:]), options.get("pass_fds", ()), env)

            options["preexec_fn"] = live
        super().__init__(command, **options)


def _live_again(arguments: list[str], kept: Sequence[int], env: Mapping[str, str] | None) -> NoReturn:
    """The life of a process that a forked one has forked; of the other one nothing is left but what it imported."""
    code = 1
    try:
        atexit._clear()
        sys.stdin, sys.stdout = os.fdopen(0), os.fdopen(1, "w")  # those of the other process may hold what it wrote
        sys.stderr = os.fdopen(2, "w", buffering=1, errors="backslashreplace")
        logging.root.handlers.clear()
        for number in signal.valid_signals():
            if callable(signal.getsignal(number)):
                signal.signal(number, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        last = 2
        for descriptor in (*sorted(kept), 4096):
            os.closerange(last + 1, descriptor)  # among them the pipe whose end means that ``exec`` has succeeded
            last = descriptor
        if env is not None:
            os.environ.clear()
            os.environ.update(env)
        gc.enable()  # ``subprocess`` has disabled it
        code = _run(arguments)
    except BaseException:  # noqa: BLE001 - nothing may go back to the other process
        traceback.print_exc()
    finally:
        _end(code)


def _run(arguments: list[str]) -> int:
    """``python ARGUMENTS``; returns the exit code."""
    try:
        if arguments[0] == "-m":
            sys.argv = arguments[1:]
            sys.path[0] = str(Path.cwd())
            runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        else:
            sys.argv = arguments
            sys.path[0] = str(Path(arguments[0]).resolve().parent)
            runpy.run_path(arguments[0], run_name="__main__")
    except SystemExit as ended:
        if isinstance(ended.code, str):
            sys.stderr.write(f"{ended.code}\n")
            return 1
        return int(ended.code or 0)
    return 0


def preload() -> None:
    """Import what a crawl imports. No reactor is installed: each crawl installs its own."""
    from scrapy.settings import default_settings
    from scrapy.utils.misc import load_object

    importlib.import_module("tests.crawl.runner")
    del sys.modules["tests.crawl.runner"]  # or runpy warns
    for name in dir(default_settings):
        value = getattr(default_settings, name)
        for path in (*value, *value.values()) if isinstance(value, dict) else (value,):
            if isinstance(path, str) and path.startswith("scrapy."):
                load_object(path)
    for name in _modules(ROOT / "crawlproject", "crawlproject"):
        importlib.import_module(name)
    inspect.getsource(preload)  # compiles the expressions of tokenize: Scrapy reads the source of callbacks


def preload_commands() -> None:
    """Import all commands, as ``scrapy`` does for each of them; those of other packages import much."""
    from scrapy.cmdline import _get_commands_dict
    from scrapy.settings import Settings

    _get_commands_dict(Settings(), inproject=True)


def preload_simulation() -> None:
    """Import what ``scrapy simulate`` and ``scrapy pagerank`` import."""
    preload_commands()
    for name in _modules(ROOT / "crawlproject" / "simulation", "crawlproject.simulation"):
        importlib.import_module(name)


#: What servers import, by kind; each after what the first one has imported.
PRELOADS: dict[str, Callable[[], None]] = {
    "crawl": preload,
    "command": preload_commands,
    "simulation": preload_simulation,
}


def _modules(folder: Path, package: str) -> Iterator[str]:
    for module in pkgutil.iter_modules([str(folder)], f"{package}."):
        if module.name in NOT_PRELOADED:
            continue
        yield module.name
        if module.ispkg:
            yield from _modules(folder / module.name.rpartition(".")[2], module.name)


if __name__ == "__main__":
    serve(*(socket.socket(fileno=int(descriptor)) for descriptor in sys.argv[1:]))
