"""Which addresses are refused, and under what name."""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlproject.download.address_guard import AddressGuard, AddressRefused, GuardedSockets, literal_address

GUARD = AddressGuard()

#: At the edges of networks, and inside addresses that carry others; the last ones of Teredo: its server, and its client
#: with all bits turned over.
KINDS = {
    "loopback": "127.0.0.1 127.255.255.255 ::1 ::ffff:127.0.0.1 2001:0:7f00:1::",
    "unspecified": "0.0.0.0 0.1.2.3 :: ::ffff:0.0.0.0",
    "private": "10.0.0.0 172.16.0.0 172.31.255.255 192.168.255.255 fc00::1 fdff::1 64:ff9b:1::1 64:ff9b::10.0.0.1"
    " 2001:0:808:808::f5ff:fffe",
    "link_local": "169.254.0.1 fe80::1 fe80::1%lo febf::1",
    "shared": "100.64.0.0 100.127.255.255",
    "multicast": "224.0.0.1 239.255.255.255 ff05::1:3",
    "reserved": "240.0.0.1 255.255.255.255 192.0.0.1 192.0.2.1 198.18.0.1 198.19.255.255 198.51.100.1 203.0.113.1"
    " 2001:db8::1 2001:10::1 3fff::1 4000::1 ::2",
    "metadata": "169.254.169.254 169.254.170.2 168.63.129.16 100.100.100.200 192.0.0.192 fd00:ec2::254 fd20:ce::254"
    " ::ffff:169.254.169.254 2002:a9fe:a9fe::1",
}

PUBLIC = [
    "1.1.1.1", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
    "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.167.255.255", "192.169.0.0",
    "198.17.255.255", "198.20.0.0", "223.255.255.255", "2606:4700::1111", "2a00:1450::1",
    "2001:4860:4860::8888", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::1", "2001:0:808:808::f7f7:f7f7",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_address_is_refused_by_its_kind(kind: str) -> None:
    for address in KINDS[kind].split():
        refusal = GUARD.refusal(address)
        assert refusal is not None, address
        assert refusal.kind == kind, address


def test_public_address_is_not_refused() -> None:
    """Also those just outside the networks."""
    assert [address for address in PUBLIC if GUARD.refusal(address) is not None] == []


@given(st.ip_addresses(v=4))
def test_ipv4_is_what_python_says_or_stricter(address: IPv4Address) -> None:
    """An address that passes is global and no multicast by the standard library, too."""
    if GUARD.refusal(str(address)) is None:
        assert address.is_global
        assert not address.is_multicast
        assert not address.is_reserved


@given(st.ip_addresses(v=6))
def test_ipv6_that_passes_is_global_unicast(address: IPv6Address) -> None:
    """RFC 4291: 2000::/3; drawn from the special networks as well."""
    if GUARD.refusal(str(address)) is None:
        carriers = ("::ffff:0:0/96", "64:ff9b::/96", "2002::/16", "2001::/32")
        carries = any(address in ip_network(network) for network in carriers)
        assert carries or (address in ip_network("2000::/3") and not address.is_private)


@given(st.ip_addresses(v=4))
def test_carried_address_is_judged_as_itself(address: IPv4Address) -> None:
    """Mapped, NAT64 and 6to4 of any address."""
    own = GUARD.refusal(str(address))
    for carrier in (
        IPv6Address(0xFFFF << 32 | int(address)),
        IPv6Address(0x64FF9B << 96 | int(address)),
        IPv6Address(0x2002 << 112 | int(address) << 80),
    ):
        refusal = GUARD.refusal(str(carrier))
        assert (refusal and refusal.kind) == (own and own.kind)


def test_allowed_networks_open_ranges() -> None:
    """One address, a network, an address that is carried; and nothing else."""
    guard = AddressGuard([ip_network("127.0.0.2"), ip_network("10.0.0.0/8"), ip_network("fd00::/8")])
    allowed = ("127.0.0.2", "10.1.2.3", "fd00::1", "fd00:ec2::254", "::ffff:127.0.0.2", "64:ff9b::10.0.0.1")
    assert [guard.refusal(address) for address in allowed] == [None] * len(allowed)
    for address in ("127.0.0.1", "::1", "192.168.0.1", "::ffff:127.0.0.1"):
        assert guard.refusal(address) is not None


def test_whole_address_space_turns_the_guard_off() -> None:
    """As the docs say."""
    guard = AddressGuard([ip_network("0.0.0.0/0"), ip_network("::/0")])
    assert not any(guard.refusal(address) for addresses in KINDS.values() for address in addresses.split())


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://a.test/", None),
        ("http://1.2.3.4.test/", None),
        ("http://127.0.0.1/", "127.0.0.1"),
        ("http://0x7f.1:80/", "127.0.0.1"),
        ("http://[::FFFF:127.0.0.1]/", "::ffff:7f00:1"),
        ("http://a.localhost./", "127.0.0.1"),
        ("http://notlocalhost/", None),
        ("ftp://017700000001/x", "127.0.0.1"),
        ("data:text/plain,127.0.0.1", None),
        ("file:///127.0.0.1", None),
        ("http://[::1", None),
        ("", None),
    ],
)
def test_address_that_stands_in_a_url(url: str, address: str | None) -> None:
    """Read as browsers read it; a URL that is none has no address."""
    found = literal_address(url)
    assert (found and ip_address(found)) == (address and ip_address(address))


def test_message_says_what_to_set() -> None:
    """The network that holds the address."""
    with pytest.raises(AddressRefused, match=r"http://192.168.1.1:8080 .* FRONTIER_ALLOWED_NETWORKS=192.168.0.0/16"):
        GUARD.check_url("http://192.168.1.1:8080/x?y")


def test_no_socket_is_made_for_a_refused_address() -> None:
    """But for the user's own proxy; a refusal is forgotten when an address was tried."""
    sockets = GuardedSockets(GUARD)
    near = (socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", 1))
    public = (socket.AF_INET, socket.SOCK_STREAM, 0, "", ("8.8.8.8", 1))
    sockets.expect(to_proxy=False)
    with pytest.raises(PermissionError, match="loopback"):
        sockets(near)
    assert sockets.refusal is not None
    sockets(public).close()
    assert sockets.refusal is None
    sockets.expect(to_proxy=True)
    sockets(near).close()


def test_sessions_are_limited_at_public_addresses() -> None:
    """At others, which are the user's own, only by a limit that he has set himself."""
    own = AddressGuard([ip_network("127.0.0.0/8"), ip_network("8.0.0.0/8")])
    assert [own.limited(address) for address in ("127.0.0.1", "8.8.8.8", "::1")] == ["", "8.8.8.8", ""]
    assert AddressGuard(limits_own=True).limited("127.0.0.1") == "127.0.0.1"


def test_an_address_without_room_is_like_one_that_does_not_answer() -> None:
    """The next one is tried; a proxy has room always."""
    asked: list[str] = []

    def has_room(address: str) -> bool:
        asked.append(address)
        return address != "127.0.0.1"

    sockets = GuardedSockets(AddressGuard([ip_network("127.0.0.0/8")], limits_own=True), None, has_room)
    info = (socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP, "")
    sockets.expect(to_proxy=False)
    with pytest.raises(PermissionError, match=r"127\.0\.0\.1 has as many sessions as it may have"):
        sockets((*info, ("127.0.0.1", 80)))
    assert (sockets.full, sockets.refusal) == ("127.0.0.1", None)
    sockets((*info, ("127.0.0.2", 80))).close()
    assert sockets.full == ""
    sockets.expect(to_proxy=True)
    sockets((*info, ("127.0.0.1", 80))).close()
    assert asked == ["127.0.0.1", "127.0.0.2", ""]
