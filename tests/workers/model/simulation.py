"""Virtual time: processes with an event loop each, which can be killed or stopped at any moment.

Nothing waits: the simulation goes from event to event.  Each process has its own clock, as on a machine of its own.
"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Callable, Coroutine
from itertools import count
from random import Random
from typing import Any

from crawlproject.workers.control import AWAY


class Simulation:
    """Events in the order of their time; equal times in the order in which they were added."""

    def __init__(self, seed: int) -> None:
        self.now = 0.0
        self.random = Random(seed)
        #: The process that runs now.
        self.current: Process | None = None
        #: What happened, with times; for people.
        self.trace: list[str] = []
        #: Called with the error of a task that nobody waits for.
        self.failed: Callable[[str], None] = self.note
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = count()

    def at(self, time: float, action: Callable[[], None]) -> None:
        """Call ``action`` at ``time``, or now if that is over."""
        heapq.heappush(self._events, (max(time, self.now), next(self._numbers), action))

    def after(self, seconds: float, action: Callable[[], None]) -> None:
        self.at(self.now + seconds, action)

    def run(self, until: float, is_over: Callable[[], bool]) -> bool:
        while self._events and not is_over():
            time, _, action = heapq.heappop(self._events)
            if time > until:
                return False
            self.now = time
            action()
        return is_over()

    def note(self, text: str) -> None:
        name = "" if self.current is None else f" {self.current.name}:"
        self.trace.append(f"{self.now:9.3f}{name} {text}")

    def boot_time(self) -> float:
        assert self.current is not None
        return self.now + self.current.clock_offset


class _Loop(asyncio.SelectorEventLoop):
    """Never waits: ``turn`` runs what is due."""

    def __init__(self, process: Process) -> None:
        self._process = process
        super().__init__()

    def time(self) -> float:
        return self._process.simulation.now + self._process.clock_offset

    def turn(self) -> float | None:
        """Run until nothing is due; returns the seconds until the next timer, None if there is none.

        ``run_forever`` does the same for twice the CPU: it asks for sockets, and prepares for threads, each time.
        """
        ready, timers = self._ready, self._scheduled  # type: ignore[attr-defined]
        now = self.time()
        end = now + self._clock_resolution  # type: ignore[attr-defined]
        asyncio._set_running_loop(self)
        try:
            while True:
                while timers and (timers[0]._cancelled or timers[0]._when < end):
                    timer = heapq.heappop(timers)
                    timer._scheduled = False
                    if timer._cancelled:
                        self._timer_cancelled_count -= 1
                    else:
                        ready.append(timer)
                if not ready:
                    return timers[0]._when - now if timers else None
                for _ in range(len(ready)):
                    handle = ready.popleft()
                    if not handle._cancelled:
                        handle._run()
        finally:
            asyncio._set_running_loop(None)


class Process:
    """Runs ``main`` until it returns, or is killed. ``clock_offset``: its clock minus the simulation's."""

    def __init__(self, simulation: Simulation, name: str, clock_offset: float) -> None:
        self.simulation = simulation
        self.name = name
        self.clock_offset = clock_offset
        self.is_killed = self.is_paused = False
        self._loop = _Loop(self)
        self._loop.set_exception_handler(self._failed)
        self._turn = 0
        self._main: asyncio.Task[None] | None = None
        self._given: asyncio.Task[None] | None = None

    @property
    def is_alive(self) -> bool:
        return not self._loop.is_closed()

    def start(self, main: Coroutine[Any, Any, None]) -> None:
        self._main = self._loop.create_task(main)
        self.run()

    def call(self, function: Callable[..., object], *arguments: object) -> None:
        """Call ``function`` in the process: now, or when it is resumed."""
        if self.is_alive:
            self._loop.call_soon(function, *arguments)
            self.run()

    def give(self, task: Coroutine[Any, Any, None]) -> None:
        self._given = self._loop.create_task(task)
        self.run()

    def pause(self) -> None:
        self.is_paused = True

    def resume(self) -> None:
        """Let it go on; all its timers that are due ring."""
        self.is_paused = False
        self.run()

    def kill(self) -> None:
        """End it as SIGKILL does: nothing that it calls while its coroutines end has an effect."""
        if not self.is_alive:
            return
        self.is_killed, self.is_paused = True, False
        tasks = asyncio.all_tasks(self._loop)
        while tasks:
            for task in tasks:
                task.cancel()
            self._turn_loop()
            left = asyncio.all_tasks(self._loop)
            assert left != tasks, f"{self.name}: tasks do not end: {left}"
            tasks = left
        self._loop.close()

    def run(self) -> None:
        if self.is_paused or not self.is_alive:
            return
        timeout = self._turn_loop()
        assert self._main is not None
        if self._main.done():
            error = None if self._main.cancelled() else self._main.exception()
            if error is not None:
                self.simulation.note(f"{self.name} failed: {error!r}")
            self.kill()
            if error is not None and not isinstance(error, AWAY):
                raise error
            return
        if timeout is not None:
            self._turn += 1
            turn = self._turn
            self.simulation.after(timeout, lambda: self.run() if turn == self._turn else None)

    def _turn_loop(self) -> float | None:
        before, self.simulation.current = self.simulation.current, self
        try:
            return self._loop.turn()
        finally:
            self.simulation.current = before

    def _failed(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        if not self.is_killed:
            self.simulation.failed(f"{self.name}: {context['message']}: {context.get('exception')!r}")
