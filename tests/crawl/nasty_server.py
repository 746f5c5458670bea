"""Servers on loopback that answer byte by byte as scripted, however invalid that is.

A script is what one connection sends in answer to one request: bytes are sent, a number is waited for (seconds), and
``CLOSE``, ``RESET`` or ``HANG`` end the connection; a script without an end leaves it open for the next request.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress

CLOSE, RESET, HANG = "close", "reset", "hang"

Script = Iterable[bytes | float | str]
#: Path -> script; any other path is a good page, and there is no robots.txt.
Answers = Mapping[str, Script]

#: No linger time: closing sends a reset.
_NO_LINGER = struct.pack("ii", 1, 0)


def response(body: bytes | str = b"", *headers: str, status: str = "200 OK") -> bytes:
    """A well-formed response, unless ``headers`` make it invalid."""
    body = body.encode() if isinstance(body, str) else body
    names = {header.partition(":")[0].lower() for header in headers}
    defaults = {"content-type": "Content-Type: text/html", "content-length": f"Content-Length: {len(body)}"}
    lines = [f"HTTP/1.1 {status}", *headers, *(line for name, line in defaults.items() if name not in names)]
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def page(*hrefs: str, title: str = "page") -> str:
    links = "\n".join(f'<a href="{href}">link</a>' for href in hrefs)
    return f"<html><head><title>{title}</title></head><body>\n{links}\n</body></html>"


GOOD = response(page())
NO_ROBOTS = response(status="404 Not Found")


async def _serve(answers: Answers, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer the requests of one connection."""
    with suppress(ConnectionError, asyncio.IncompleteReadError):
        try:
            while request := await reader.readuntil(b"\r\n\r\n"):
                path = request.split(b" ", 2)[1].decode()
                script = answers.get(path, (NO_ROBOTS if path == "/robots.txt" else GOOD,))
                if not await _play(script, reader, writer):
                    break
        finally:
            writer.close()


async def _play(script: Script, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
    """Answer one request; False if the connection is over."""
    for step in script:
        if isinstance(step, bytes):
            writer.write(step)
            await writer.drain()
        elif isinstance(step, float):
            await asyncio.sleep(step)
        else:
            if step == HANG:
                await reader.read()  # ends when the client closes
            if step == RESET:
                writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
            return False
    return True


async def _run(
    sites: Mapping[str, Answers], roots: dict[str, str], started: threading.Event, stop: asyncio.Event
) -> None:
    servers = []
    for number, (name, answers) in enumerate(sites.items(), 1):

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, answers: Answers = answers) -> None:
            with suppress(asyncio.CancelledError):  # the servers stop
                await _serve(answers, reader, writer)

        server = await asyncio.start_server(serve, f"127.5.0.{number}", 0)
        roots[name] = "http://{}:{}".format(*server.sockets[0].getsockname())
        servers.append(server)
    started.set()
    await stop.wait()
    for server in servers:
        server.close()


@contextmanager
def deaf_server() -> Iterator[str]:
    """A server that never accepts: its queue of connections is full."""
    with socket.create_server(("127.5.1.1", 0), backlog=0) as server:
        address = server.getsockname()
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(address)
        try:
            yield "http://{}:{}".format(*address)
        finally:
            for filler in fillers:
                filler.close()


@contextmanager
def running(sites: Mapping[str, Answers]) -> Iterator[dict[str, str]]:
    """Serve each site at its own address; yields name -> scheme://host:port."""
    roots: dict[str, str] = {}
    started = threading.Event()
    loop = asyncio.new_event_loop()
    stop = asyncio.Event()

    def run() -> None:
        with asyncio.Runner(loop_factory=lambda: loop) as runner:
            runner.run(_run(sites, roots, started, stop))

    thread = threading.Thread(target=run, name="nasty servers")
    thread.start()
    try:
        started.wait(timeout=60)
        yield roots
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()
