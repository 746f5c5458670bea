"""The settings on DNS and addresses: what they mean, and what is said to wrong ones."""

from __future__ import annotations

from ipaddress import ip_network

import pytest
from scrapy.settings import Settings

from crawlproject.addon import FrontierAddon
from crawlproject.options.network import NetworkOptions


def options(**settings: object) -> NetworkOptions:
    return NetworkOptions.from_settings(Settings(settings))


@pytest.mark.parametrize("value", [["127.0.0.0/8", "fd00::/8"], "127.0.0.0/8, fd00::/8", ("127.0.0.0/8", "fd00::/8")])
def test_networks_are_a_list_or_a_string(value: object) -> None:
    """As with ``-s``."""
    assert options(FRONTIER_ALLOWED_NETWORKS=value).allowed_networks == (
        ip_network("127.0.0.0/8"),
        ip_network("fd00::/8"),
    )


def test_name_servers_are_addresses_with_or_without_a_port() -> None:
    """IPv6 in brackets where there is a port."""
    found = options(FRONTIER_DNS_SERVERS="192.0.2.1,192.0.2.2:5353,2001:db8::1,[2001:db8::2]:5353,[2001:db8::3]")
    assert found.dns_servers == (
        ("192.0.2.1", 53),
        ("192.0.2.2", 5353),
        ("2001:db8::1", 53),
        ("2001:db8::2", 5353),
        ("2001:db8::3", 53),
    )


def test_scrapys_settings_hold_where_the_project_has_set_them() -> None:
    """Its defaults are for its own resolver; ours wins over both."""
    assert options(DNS_TIMEOUT=3).dns_timeout == 3
    assert options(DNS_TIMEOUT=3, FRONTIER_DNS_TIMEOUT=4).dns_timeout == 4
    assert options(DNSCACHE_SIZE=7).cache_size == 7
    off = options(DNSCACHE_ENABLED=False)
    assert (off.cache_size, off.prefetch) == (0, 0)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("FRONTIER_ALLOWED_NETWORKS", "localhost"),
        ("FRONTIER_ALLOWED_NETWORKS", ["10.0.0.0/33"]),
        ("FRONTIER_DNS_SERVERS", "dns.example"),
        ("FRONTIER_DNS_SERVERS", "192.0.2.1:0"),
        ("FRONTIER_DNS_TIMEOUT", 0),
        ("DNS_TIMEOUT", -1),
        ("DNSCACHE_SIZE", -1),
    ],
)
def test_wrong_value_is_refused_by_name(name: str, value: object) -> None:
    """At start, by the add-on."""
    with pytest.raises(ValueError, match=name) as error:
        FrontierAddon().update_settings(Settings({name: value}))
    shown = value[0] if isinstance(value, list) else value
    assert repr(shown) in str(error.value)
