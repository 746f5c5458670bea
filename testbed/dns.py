"""A name server on loopback, over UDP and TCP, with configurable behaviour for tests and benchmarks."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset

from testbed.in_thread import in_thread

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

HOST = "127.0.0.1"


@dataclass(frozen=True)
class Name:
    """A name's records, and how the server answers queries for it."""

    #: "TYPE VALUE", such as "A 192.0.2.1"; the records of a CNAME's target are added.
    records: tuple[str, ...] = ()
    #: Records from the second address query on, if they change.
    later: tuple[str, ...] | None = None
    ttl: int = 60
    rcode: str = "NOERROR"
    #: TTL of the answer that there is none, in an SOA record; 0: no such record.
    negative_ttl: int = 0
    #: Seconds before the answer.
    delay: float = 0.0
    #: Number of packets of each type that get no answer.
    lost: int = 0
    #: Answers over UDP are truncated.
    truncated: bool = False
    #: The answer is not a DNS message.
    garbage: bool = False


Zone = dict[str, Name]


class NameServer(asyncio.DatagramProtocol):
    """Serves a zone (name without the final dot -> ``Name``); ``find`` answers for names that are not in it.

    ``asked`` counts queries by (name, type).
    """

    def __init__(self, zone: Zone | None = None, find: Callable[[str], Name | None] = lambda _: None) -> None:
        self.zone = {} if zone is None else zone
        self.find = find
        self.asked: Counter[tuple[str, str]] = Counter()
        self.tcp_questions = 0
        self.port = 0
        self._udp: asyncio.DatagramTransport | None = None
        self._tcp: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def address(self) -> str:
        """The server's address, for ``FRONTIER_DNS_SERVERS``."""
        return f"{HOST}:{self.port}"

    async def __aenter__(self) -> NameServer:
        tcp, udp = _sockets()
        self.port = tcp.getsockname()[1]
        self._tcp = await asyncio.start_server(self._serve_tcp, sock=tcp)
        self._udp, _ = await asyncio.get_running_loop().create_datagram_endpoint(lambda: self, sock=udp)
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._udp is not None
        assert self._tcp is not None
        self._udp.close()
        self._tcp.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def questions(self, name: str) -> int:
        """Number of queries for the addresses of ``name`` (type A)."""
        return self.asked[name, "A"]

    def datagram_received(self, data: bytes, addr: object) -> None:
        task = asyncio.get_running_loop().create_task(self._answer_udp(data, addr))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer_udp(self, data: bytes, peer: object) -> None:
        answer = await self._answer(data, udp=True)
        if answer is not None and self._udp is not None:
            self._udp.sendto(answer, peer)

    async def _serve_tcp(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            length = int.from_bytes(await reader.readexactly(2))
            answer = await self._answer(await reader.readexactly(length), udp=False)
            self.tcp_questions += 1
            if answer is not None:
                writer.write(len(answer).to_bytes(2) + answer)
                await writer.drain()
        writer.close()

    async def _answer(self, data: bytes, *, udp: bool) -> bytes | None:
        query = dns.message.from_wire(data)
        question = query.question[0]
        name = question.name.to_text(omit_final_dot=True).lower()
        kind = dns.rdatatype.to_text(question.rdtype)
        self.asked[name, kind] += 1
        times = self.asked[name, kind]
        found = self.zone.get(name) or self.find(name) or Name(rcode="NXDOMAIN")
        await asyncio.sleep(found.delay)
        if times <= found.lost:
            return None
        if found.garbage:
            return data[:2] + b"\xff" * 30
        response = dns.message.make_response(query)
        response.set_rcode(dns.rcode.from_text(found.rcode))
        if found.negative_ttl:
            soa = f"ns.test. admin.test. 1 60 60 60 {found.negative_ttl}"
            response.authority.append(dns.rrset.from_text("test.", 86_400, "IN", "SOA", soa))
        if udp and found.truncated:
            response.flags |= dns.flags.TC
        else:
            self._fill(response, name, kind, times)
        return response.to_wire()

    def _fill(self, response: dns.message.Message, name: str, kind: str, times: int) -> None:
        """Add the records of ``name`` to the answer, and those of its CNAME's target."""
        found = self.zone.get(name) or self.find(name)
        if found is None or len(response.answer) > 20:
            return
        records = found.records if times == 1 or found.later is None else found.later
        for record in records:
            written, _, value = record.partition(" ")
            if written in (kind, "CNAME"):
                rrset = dns.rrset.from_text(f"{name}.", found.ttl, "IN", written, value)
                with suppress(KeyError):
                    known = response.find_rrset(response.answer, rrset.name, rrset.rdclass, rrset.rdtype)
                    known.update(rrset)
                    continue
                response.answer.append(rrset)
            if written == "CNAME":
                self._fill(response, value.rstrip("."), kind, times)


def _sockets() -> tuple[socket.socket, socket.socket]:
    """TCP and UDP sockets of one port: a port that is free for TCP can be another program's for UDP."""
    while True:
        tcp, udp = socket.socket(), socket.socket(type=socket.SOCK_DGRAM)
        try:
            tcp.bind((HOST, 0))
            udp.bind(tcp.getsockname())
        except OSError as error:
            tcp.close()
            udp.close()
            if error.errno != errno.EADDRINUSE:
                raise
        else:
            return tcp, udp


def running_name_server(zone: Zone | None = None) -> AbstractContextManager[NameServer]:
    """Run a name server in a separate thread."""
    return in_thread(NameServer(zone))
