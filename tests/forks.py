"""``pytest --forks N``: N processes, forked from one that has imported and collected all tests.

Beside processes that each collect for themselves this saves 4 s of CPU and 300 MB a process.  All tests of a module run
in one of them, in their order, so that what they share is made once; those marked long are spread one by one.
"""

from __future__ import annotations

import os
import signal
import struct
import traceback
from collections.abc import Iterator
from itertools import groupby
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import Any, NoReturn

import pytest

NUMBER = struct.Struct("I")


def run_forked(session: pytest.Session, processes: int) -> None:
    """Run the session's tests; its plugins get their reports as if this process had run them.

    What is to do stands in a pipe that all processes read: the first one that is free takes the next module.
    """
    modules = [[*tests] for _, tests in groupby(session.items, key=_part)]
    todo, ours = os.pipe()
    os.write(ours, b"".join(map(NUMBER.pack, range(len(modules)))))  # it holds 16,000
    os.close(ours)
    folder = session.config._tmp_path_factory.getbasetemp()  # type: ignore[attr-defined]
    pids: dict[Any, int] = {}
    for number in range(processes):
        told, theirs = Pipe(duplex=False)
        if (pid := os.fork()) == 0:
            _live(session, _taken(todo, modules), theirs, folder / f"process-{number}")
        theirs.close()
        pids[told] = pid
    os.close(todo)
    running: dict[Any, str] = {}
    try:
        while pids:
            for told in wait([*pids]):
                try:
                    message = told.recv()  # type: ignore[union-attr]
                except EOFError:
                    if os.waitpid(pids.pop(told), 0)[1]:
                        session.testsfailed += 1
                        raise session.Interrupted(f"a process ended in {running.get(told)}") from None
                    continue
                if isinstance(message, str):
                    running[told] = message
                    continue
                report = session.config.hook.pytest_report_from_serializable(config=session.config, data=message)
                session.config.hook.pytest_runtest_logreport(report=report)
                if session.shouldfail:
                    raise session.Failed(session.shouldfail)
    finally:
        for pid in pids.values():
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _part(item: pytest.Item) -> tuple[Path, str]:
    return item.path, item.nodeid if item.get_closest_marker("long") else ""


def _taken(todo: int, modules: list[list[pytest.Item]]) -> Iterator[pytest.Item]:
    """The tests of modules that nobody else has taken."""
    while number := os.read(todo, NUMBER.size):
        yield from modules[NUMBER.unpack(number)[0]]


class _Teller:
    """Plugin: tells the first process which test begins, and its reports."""

    def __init__(self, config: pytest.Config, told: Connection) -> None:
        self._config, self._told = config, told

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        self._told.send(nodeid)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._told.send(self._config.hook.pytest_report_to_serializable(config=self._config, report=report))


def _live(session: pytest.Session, tests: Iterator[pytest.Item], told: Connection, folder: Path) -> NoReturn:
    """The life of a forked process."""
    code = 1
    try:
        plugins = session.config.pluginmanager
        capture = plugins.getplugin("capturemanager")
        capture.stop_global_capturing()  # its files are those of the first process
        capture.start_global_capturing()
        plugins.unregister(name="terminalreporter")
        plugins.register(_Teller(session.config, told))
        folder.mkdir()
        session.config._tmp_path_factory._basetemp = folder  # type: ignore[attr-defined]
        item = next(tests, None)
        while item is not None:
            following = next(tests, None)
            session.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            item = following
        code = 0
    except BaseException:  # noqa: BLE001 - nothing may go back to the first process's loop
        traceback.print_exc()
    finally:
        os._exit(code)
