"""The resolver against a real name server on loopback: slow, lossy, wrong and changing ones."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import Settings
from scrapy.statscollectors import StatsCollector
from scrapy.utils.test import get_crawler

from crawlproject.download.address_guard import AddressGuard
from crawlproject.download.lookup import Answer, NameLookup, NameLookupError
from crawlproject.download.opening import Opening
from crawlproject.download.request_head import destination
from crawlproject.download.resolver import MAX_IN_FLIGHT, CachingResolver
from crawlproject.download.timing import Timing
from crawlproject.options.network import NetworkOptions
from testbed.dns import Name, NameServer, Zone
from tests.download.direct_fetch import in_loop

OPTIONS = NetworkOptions.from_settings(Settings())

#: Seconds that no look-up takes even on a very busy machine.
PATIENCE = 60.0


class CountingLookup(NameLookup):
    """Counts the look-ups in progress."""

    open = most_open = 0

    async def look_up(self, name: str) -> Answer:
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            return await super().look_up(name)
        finally:
            self.open -= 1

    def be_patient(self) -> None:
        """From now on no look-up times out."""
        self._timeout = PATIENCE

    def never_ask_again(self) -> None:
        """A name server that is slow because the machine is busy gets no second query for the same name."""
        self._resolver.timeout = PATIENCE


@dataclass
class Scene:
    """A resolver, its look-ups, its name server and its clock."""

    server: NameServer
    lookup: CountingLookup
    resolver: CachingResolver
    stats: StatsCollector
    now: list[float]

    async def addresses(self, name: str) -> list[str]:
        return list(await self.resolver.addresses(name))

    async def failure(self, name: str) -> str:
        with pytest.raises(NameLookupError) as error:
            await self.resolver.addresses(name)
        return error.value.kind

    def stat(self, name: str) -> Any:
        return self.stats.get_value(name, 0)


@asynccontextmanager
async def playing(
    zone: Zone,
    *,
    options: NetworkOptions = OPTIONS,
    timeout: float = PATIENCE,
    has_ipv6: bool = False,
    hosts_file: Path = Path("/nonexistent"),
) -> AsyncIterator[Scene]:
    """A resolver with a name server of ``zone``."""
    async with NameServer(zone, lambda _: zone.get("*")) as server:
        lookup = CountingLookup([("127.0.0.1", server.port)], timeout, hosts_file=hosts_file, has_ipv6=has_ipv6)
        if not any(name.lost for name in zone.values()):
            lookup.never_ask_again()
        stats = get_crawler().stats
        now = [0.0]
        scene = Scene(server, lookup, CachingResolver(options, stats, lookup, clock=lambda: now[0]), stats, now)
        yield scene
        await scene.resolver.close()


@in_loop
async def test_name_is_asked_for_once_and_then_known() -> None:
    """The second connection needs no look-up."""
    async with playing({"a.test": Name(("A 192.0.2.1", "A 192.0.2.2"))}) as scene:
        assert await scene.addresses("a.test") == ["192.0.2.1", "192.0.2.2"]
        assert await scene.addresses("A.test") == ["192.0.2.1", "192.0.2.2"]
        assert scene.server.questions("a.test") == 1
        assert (scene.stat("dns/lookups"), scene.stat("dns/waited"), scene.stat("dns/cached")) == (1, 1, 1)


@in_loop
async def test_one_question_however_many_wait() -> None:
    """100 connections to one name, at once."""
    async with playing({"a.test": Name(("A 192.0.2.1",), delay=0.02)}) as scene:
        answers = await asyncio.gather(*(scene.addresses("a.test") for _ in range(100)))
        assert answers == [["192.0.2.1"]] * 100
        assert scene.server.questions("a.test") == 1
        assert scene.stat("dns/waited") == 100


@in_loop
async def test_a_waiting_request_that_is_given_up_does_not_end_the_look_up_of_others() -> None:
    """Cancelling one of two that wait."""
    async with playing({"a.test": Name(("A 192.0.2.1",), delay=0.02)}) as scene:
        first = asyncio.ensure_future(scene.addresses("a.test"))
        second = asyncio.ensure_future(scene.addresses("a.test"))
        await asyncio.sleep(0)
        first.cancel()
        assert await second == ["192.0.2.1"]
        assert scene.server.questions("a.test") == 1


@pytest.mark.parametrize(("ttl", "lifetime"), [(0, 300), (600, 600), (500_000, 86_400)])
@in_loop
async def test_answer_is_kept_for_its_ttl_within_bounds(ttl: int, lifetime: float) -> None:
    """Below MIN_TTL it is that, above MAX_TTL that; then a changed address is seen."""
    async with playing({"a.test": Name(("A 192.0.2.1",), later=("A 192.0.2.9",), ttl=ttl)}) as scene:
        assert await scene.addresses("a.test") == ["192.0.2.1"]
        scene.now[0] = lifetime - 0.01
        assert await scene.addresses("a.test") == ["192.0.2.1"]
        scene.now[0] = lifetime
        assert await scene.addresses("a.test") == ["192.0.2.9"]


@in_loop
async def test_ttl_of_a_chain_is_that_of_its_shortest_link() -> None:
    """CNAME -> CNAME -> A: the answer holds as long as all of them do."""
    zone = {
        "a.test": Name(("CNAME b.test.",), ttl=500),
        "b.test": Name(("CNAME c.test.",), ttl=400),
        "c.test": Name(("A 192.0.2.3",), ttl=500),
    }
    async with playing(zone) as scene:
        assert await scene.addresses("a.test") == ["192.0.2.3"]
        scene.now[0] = 400
        assert await scene.addresses("a.test") == ["192.0.2.3"]
        assert scene.server.questions("a.test") == 2


@in_loop
async def test_chain_that_runs_in_a_circle_fails() -> None:
    """No endless loop, no address."""
    zone = {"a.test": Name(("CNAME b.test.",)), "b.test": Name(("CNAME a.test.",))}
    async with playing(zone) as scene:
        assert await scene.failure("a.test") in ("servfail", "no_address")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (Name(rcode="NXDOMAIN"), "nxdomain"),
        (Name(rcode="SERVFAIL"), "servfail"),
        (Name(rcode="REFUSED"), "servfail"),
        (Name(), "no_address"),
        (Name(("TXT hello",)), "no_address"),
        (Name(("A 192.0.2.1",), lost=100), "timeout"),
        (Name(("A 192.0.2.1",), garbage=True), "timeout"),
    ],
)
@in_loop
async def test_failure_is_counted_and_kept_for_its_own_time(name: Name, kind: str) -> None:
    """Six times FRONTIER_MIN_BACKOFF, 30 s: until then nobody is asked again."""
    async with playing({"a.test": name}, timeout=0.2 if kind == "timeout" else PATIENCE) as scene:
        assert await scene.failure("a.test") == kind
        assert scene.stat(f"dns/failures/{kind}") == 1
        asked = scene.server.questions("a.test")
        scene.now[0] = 29.9
        assert await scene.failure("a.test") == kind
        assert scene.server.questions("a.test") == asked
        scene.server.zone["a.test"] = Name(("A 192.0.2.1",))
        scene.now[0] = 30
        scene.lookup.be_patient()
        assert await scene.addresses("a.test") == ["192.0.2.1"]


@pytest.mark.parametrize("name", ["a..test", "x" * 64 + ".test", "\udcff.test", ".", "*" * 300])
@in_loop
async def test_name_that_cannot_be_asked_for_fails(name: str) -> None:
    """Whatever a page writes where a host should be."""
    async with playing({}) as scene:
        assert await scene.failure(name) in ("malformed", "no_address", "nxdomain")


@in_loop
async def test_lost_packet_is_sent_again() -> None:
    """The first gets no answer, the second does."""
    async with playing({"a.test": Name(("A 192.0.2.1",), lost=1)}) as scene:
        assert await scene.addresses("a.test") == ["192.0.2.1"]
        assert scene.server.questions("a.test") == 2


@in_loop
async def test_servfail_of_one_server_is_made_good_by_the_next() -> None:
    """Both are asked first in turn."""
    async with (
        NameServer(find=lambda _: Name(rcode="SERVFAIL")) as ill,
        NameServer(find=lambda _: Name(("A 192.0.2.1",))) as well,
    ):
        lookup = NameLookup([("127.0.0.1", ill.port), ("127.0.0.1", well.port)], PATIENCE, has_ipv6=False)
        names = [f"n{number}.test" for number in range(20)]
        for name in names:
            assert (await lookup.look_up(name)).addresses == ("192.0.2.1",)
        assert 0 < sum(map(ill.questions, names)) < 20


def test_resolv_conf_that_cannot_be_read(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """One line says so; like without one, the name server of this machine is asked."""
    file = tmp_path / "resolv.conf"
    file.write_text("nameserver 192.0.2.1\noptions timeout:0\n")
    lookup = NameLookup(resolv_file=file)
    assert lookup._resolver.nameservers == ["192.0.2.1"]
    assert lookup._resolver.timeout == 1  # with 0, each query would time out at once
    file.write_text("nameserver dns.example\n")
    [server] = NameLookup(resolv_file=file)._resolver.nameservers
    assert str(server) == "Do53:127.0.0.1@53"
    assert [str(file) in message for message in caplog.messages] == [True]


@pytest.mark.parametrize("content", [None, "", "search example.org\n"])
def test_without_a_name_server_in_resolv_conf(tmp_path: Path, content: str | None) -> None:
    """Like the C library: the one of this machine."""
    file = tmp_path / "resolv.conf"
    if content is not None:
        file.write_text(content)
    [server] = NameLookup(resolv_file=file)._resolver.nameservers
    assert str(server) == "Do53:127.0.0.1@53"


@in_loop
async def test_truncated_answer_is_asked_for_over_tcp() -> None:
    """40 addresses do not fit into a datagram."""
    addresses = [f"192.0.2.{number}" for number in range(1, 41)]
    async with playing({"a.test": Name(tuple(f"A {each}" for each in addresses), truncated=True)}) as scene:
        assert sorted(await scene.addresses("a.test")) == sorted(addresses)
        assert scene.server.tcp_questions == 1


@in_loop
async def test_ipv6_comes_after_ipv4_where_the_system_has_a_route() -> None:
    """They are tried in turn; each is of its family."""
    async with playing({"a.test": Name(("A 192.0.2.1", "AAAA 2001:db8::1"))}, has_ipv6=True) as scene:
        opening = Opening(ssl.create_default_context(), scene.resolver.addresses, AddressGuard())
        found = await opening._addresses(destination("http://a.test/"), Timing())
        assert [(family, address) for family, *_, address in found] == [
            (socket.AF_INET, ("192.0.2.1", 80)),
            (socket.AF_INET6, ("2001:db8::1", 80)),
        ]


@pytest.mark.parametrize("has_ipv6", [False, True])
@in_loop
async def test_name_with_ipv6_addresses_alone_is_found(has_ipv6: bool) -> None:
    """Also where the system has no route: it may be on loopback."""
    async with playing({"a.test": Name(("AAAA ::1",))}, has_ipv6=has_ipv6) as scene:
        assert await scene.addresses("a.test") == ["::1"]


@in_loop
async def test_silence_about_ipv6_does_not_hold_up_ipv4() -> None:
    """Some name servers never answer for AAAA."""
    async with playing({"a.test": Name(("A 192.0.2.1", "AAAA ::1"), lost=50)}, has_ipv6=True, timeout=30) as scene:
        scene.server.asked["a.test", "A"] = 100  # only AAAA is still lost
        assert await scene.addresses("a.test") == ["192.0.2.1"]


@in_loop
async def test_hosts_file_and_localhost_come_before_name_servers(tmp_path: Path) -> None:
    """By hosts(5): comments, several names in a line, several lines for a name."""
    hosts = "# nothing\n192.0.2.7 box Box.test # ours\n2001:db8::7 box.test\n\nbroken\nnone box.test\n"
    (tmp_path / "hosts").write_text(hosts)
    async with playing({}, hosts_file=tmp_path / "hosts") as scene:
        assert await scene.addresses("box.test") == ["192.0.2.7", "2001:db8::7"]
        assert await scene.addresses("BOX") == ["192.0.2.7"]
        assert await scene.addresses("localhost") == ["127.0.0.1", "::1"]
        assert not scene.server.asked


@in_loop
async def test_addresses_pass_as_they_are() -> None:
    """No look-up, no stat."""
    async with playing({}) as scene:
        assert await scene.addresses("192.0.2.1") == ["192.0.2.1"]
        assert await scene.addresses("::1") == ["::1"]
        assert not scene.server.asked
        assert not scene.stats.get_stats()


@in_loop
async def test_many_names_at_once() -> None:
    """Many in flight, but no more than there are places for."""
    names = [f"n{number}.test" for number in range(250)]
    async with playing({"*": Name(("A 192.0.2.1",), delay=0.05)}) as scene:
        assert await asyncio.gather(*map(scene.addresses, names)) == [["192.0.2.1"]] * 250
        assert 10 < scene.lookup.most_open <= MAX_IN_FLIGHT
        assert scene.stat("dns/lookups") == 250
        assert scene.resolver.in_flight == 0


@in_loop
async def test_cache_is_bounded() -> None:
    """The name used least recently makes room."""
    async with playing({"*": Name(("A 192.0.2.1",))}, options=replace(OPTIONS, cache_size=2)) as scene:
        for name in ("a.test", "b.test", "c.test", "a.test"):
            await scene.addresses(name)
        assert scene.server.questions("a.test") == 2


@in_loop
async def test_without_a_cache_each_connection_asks() -> None:
    """DNSCACHE_ENABLED = False."""
    async with playing({"*": Name(("A 192.0.2.1",))}, options=replace(OPTIONS, cache_size=0)) as scene:
        await scene.addresses("a.test")
        await scene.addresses("a.test")
        assert scene.server.questions("a.test") == 2


@in_loop
async def test_prefetched_name_is_there_when_it_is_needed() -> None:
    """Nobody waits; a name that is known, and stays so, is not asked for again; one that grows old is."""
    async with playing({"a.test": Name(("A 192.0.2.1",))}) as scene:
        assert scene.resolver.prefetch("a.test", until=30)
        assert scene.resolver.prefetch("a.test", until=30)
        while scene.resolver.in_flight:
            await asyncio.sleep(0)
        assert await scene.addresses("a.test") == ["192.0.2.1"]
        scene.resolver.prefetch("a.test", until=299)
        assert not scene.resolver.in_flight
        scene.now[0] = 225
        scene.resolver.prefetch("a.test", until=375)
        assert scene.resolver.in_flight
        assert await scene.addresses("a.test") == ["192.0.2.1"]
        assert (scene.stat("dns/prefetched"), scene.stat("dns/waited"), scene.stat("dns/cached")) == (2, 0, 2)
