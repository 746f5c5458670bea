"""Connections between the processes and Redis, and what can go wrong on them."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

import redis

from tests.workers.model.redis_model import RedisModel
from tests.workers.model.simulation import Process, Simulation

#: Seconds from one end to the other, normally and rarely.
LATENCY = (0.0002, 0.003)
SLOW = (0.05, 1.5)


@dataclass
class Chances:
    """Probabilities for one call."""

    lose_request: float = 0.0
    lose_answer: float = 0.0
    #: It is sent in several parts, with other things between them.
    split: float = 0.0
    slow: float = 0.0
    #: While it is sent, its task cannot be cancelled: ``asyncio.wait_for`` before Python 3.12, in which the client of
    #: Redis sends, loses that.
    deaf: float = 0.0


class Server:
    """Redis, which may be down, or stalled: then it carries out later what it was sent meanwhile."""

    def __init__(self, simulation: Simulation, model: RedisModel, chances: Chances) -> None:
        self.simulation = simulation
        self.model = model
        self.chances = chances
        self.is_down = self.is_stalled = False
        #: Bytes per second of a call, in each direction.
        self.rate = inf
        self._waiting: deque[Callable[[], None]] = deque()
        self._connections: dict[Connection, None] = {}

    def stop(self) -> None:
        """It is killed; what it was sent and did not carry out is gone."""
        self.is_down, self.is_stalled = True, False
        self._waiting.clear()
        connections, self._connections = self._connections, {}
        for connection in connections:
            self.simulation.after(self.latency(), connection.break_off)

    def start_again(self, lost: float, *, is_replica: bool = False) -> None:
        """It, or its replica, is up again, without the last ``lost`` seconds before it was stopped."""
        self.model.restart(lost, is_replica=is_replica)
        self.is_down = False

    def stall(self) -> None:
        self.is_stalled = True

    def go_on(self) -> None:
        self.is_stalled = False
        waiting, self._waiting = self._waiting, deque()
        for action in waiting:
            action()

    def time_for(self, values: Any) -> float:
        """Seconds that the bytes in ``values`` take. O(values) at a finite rate."""
        return 0.0 if self.rate == inf else _bytes(values) / self.rate

    def latency(self) -> float:
        random = self.simulation.random
        return random.uniform(*(SLOW if random.random() < self.chances.slow else LATENCY))

    def receive(self, connection: Connection, commands: Sequence[Any]) -> None:
        if connection.is_broken:
            return
        if self.is_down:
            self.simulation.after(self.latency(), connection.break_off)
        elif self.is_stalled:
            self._connections[connection] = None
            self._waiting.append(lambda: self._execute(connection, commands))
        else:
            self._connections[connection] = None
            self._execute(connection, commands)

    def _execute(self, connection: Connection, commands: Sequence[Any]) -> None:
        connection.answers += [self.model.execute(command) for command in commands]
        if len(connection.answers) == connection.expected:
            self._connections.pop(connection, None)
            if connection.loses_answer:
                self.simulation.after(self.latency(), connection.break_off)
            else:
                self.simulation.after(self.latency() + self.time_for(connection.answers), connection.deliver)


@dataclass(eq=False)
class Connection:
    """One call."""

    process: Process
    future: asyncio.Future[list[Any]]
    expected: int
    loses_answer: bool = False
    #: An error is never noticed.
    is_silent: bool = False
    is_broken: bool = False
    answers: list[Any] = field(default_factory=list)

    def deliver(self) -> None:
        if not self.is_broken:
            self.process.call(self._set_result)

    def _set_result(self) -> None:
        if not self.future.done():
            self.future.set_result(self.answers)

    def break_off(self) -> None:
        if not self.is_broken:
            self.is_broken = True
            if not self.is_silent:
                self.process.call(self._set_error)

    def _set_error(self) -> None:
        if not self.future.done():
            self.future.set_exception(redis.ConnectionError("connection closed"))


class Client:
    """What ``Control`` uses of ``redis.asyncio.Redis``."""

    def __init__(self, process: Process, server: Server) -> None:
        self._process = process
        self._server = server
        self._simulation = server.simulation
        #: This process does not reach Redis: "" (it does), "error", "silence".
        self.cut_off = ""

    def pipeline(self, *, transaction: bool) -> Pipeline:
        assert not transaction
        return Pipeline(self)

    async def aclose(self) -> None:
        """Nothing to close."""

    async def call(self, commands: Sequence[Any]) -> list[Any]:
        if self._process.is_killed:
            raise redis.ConnectionError("killed")
        random, chances, simulation = self._simulation.random, self._server.chances, self._simulation
        if self.cut_off == "error":
            await asyncio.sleep(self._server.latency())
            raise redis.ConnectionError("cut off")
        connection = Connection(self._process, asyncio.get_running_loop().create_future(), len(commands))
        connection.loses_answer = random.random() < chances.lose_answer
        connection.is_silent = random.random() < 0.5
        parts = self._parts(commands)
        lost = random.randrange(len(parts)) if random.random() < chances.lose_request else -1
        if chances.deaf and random.random() < chances.deaf:
            try:
                await asyncio.sleep(random.uniform(0.0, 0.1))
            except asyncio.CancelledError:
                if self._process.is_killed:
                    raise
        arrival = simulation.now
        try:
            for number, part in enumerate(parts):
                if number:
                    await asyncio.sleep(random.uniform(0.001, 0.2))
                arrival = max(arrival, simulation.now + self._server.latency() + self._server.time_for(part))
                if number == lost or self.cut_off:
                    simulation.at(arrival, connection.break_off)
                    connection.is_silent = connection.is_silent or bool(self.cut_off)
                    break
                simulation.at(arrival, _receive(self._server, connection, part))
            return await connection.future
        except asyncio.CancelledError:
            connection.future.cancel()
            raise

    def _parts(self, commands: Sequence[Any]) -> list[Sequence[Any]]:
        random = self._simulation.random
        if len(commands) < 2 or random.random() >= self._server.chances.split:
            return [commands]
        places = sorted({random.randrange(1, len(commands)) for _ in range(2)})
        return [commands[start:end] for start, end in zip([0, *places], [*places, len(commands)], strict=True)]


class Pipeline:
    """What ``Control`` uses of a pipeline."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._commands: list[Any] = []

    def execute_command(self, *command: Any) -> None:
        self._commands.append(command)

    async def execute(self, *, raise_on_error: bool) -> list[Any]:
        assert not raise_on_error
        return await self._client.call(self._commands)


def _bytes(values: Any) -> int:
    if isinstance(values, (list, tuple)):
        return sum(map(_bytes, values))
    return len(values) if isinstance(values, bytes) else 0


def _receive(server: Server, connection: Connection, part: Sequence[Any]) -> Callable[[], None]:
    return lambda: server.receive(connection, part)
