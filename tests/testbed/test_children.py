"""Ports for servers of tests."""

from __future__ import annotations

import os
import socket
from itertools import count
from unittest import mock

from testbed.children import free_port


def test_ports_differ_and_no_connection_gets_them() -> None:
    """Below 32,768, from where the kernel takes those of connections; so is the bus of a Cluster, 10,000 higher."""
    ports = [free_port() for _ in range(50)]
    assert len(set(ports)) == 50
    assert all(10_000 <= port < 22_000 for port in ports)


def test_port_in_use_is_not_given() -> None:
    """Of one process on this address."""
    address = f"127.6.{os.getpid() >> 8 & 255}.{os.getpid() & 255}"
    with mock.patch("testbed.children._offsets", count(7)):
        taken = free_port(address)
    with socket.socket() as server, mock.patch("testbed.children._offsets", count(7)):
        server.bind((address, taken))
        assert free_port(address) == taken + 1
