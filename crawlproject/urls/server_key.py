"""Returns the server of a URL, and the registered domain of a server."""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING

from crawlproject.urls.canonical import origin_of, resolve

if TYPE_CHECKING:
    from tldextract import TLDExtract

_other_scheme = re.compile(r"(?!https?:)([a-z][a-z0-9+.-]*:)(?://([^/?#\\\s]*))?", re.IGNORECASE | re.ASCII).match
_port = re.compile(r"https?://[^/?#\s]*:0*([0-9]{1,20})(?:[/?#]|\Z)", re.IGNORECASE | re.ASCII).match
_HTTP = ("http://", "https://")

#: A prefix that is already canonical: lower case, no port, no number that could be an IP address, no IDNA.
_plain_prefix = re.compile(r"https?://(?:(?!xn--)[a-z0-9-]+\.)+(?!xn--)[a-z]{2,63}(?=/)").match


@lru_cache(maxsize=256)  # asked fifteen times for the URL of a page, mostly by code that only has its URL
def server_key(url: str) -> str:
    """scheme://host[:port] of *url* in canonical form; a prefix of a canonical http(s) URL.

    Other schemes that Scrapy users use have a key, too: ``file:///x`` has ``file://``, ``s3://bucket/x`` has
    ``s3://bucket``, ``data:,x`` has ``data:``.  Raises ValueError naming a URL without scheme or host.
    O(length of the host); 0.4 us for a plain host name, 0.6 us for another known server, 0.1 us for a URL again.

    >>> server_key("http://example.org:8080/a/b?c")
    'http://example.org:8080'
    >>> server_key("HTTPS://User@Example.ORG:443")
    'https://example.org'
    """
    if plain := _plain_prefix(url):
        return plain[0]
    if not url.startswith(_HTTP) and (match := _other_scheme(url)):
        host = match[2]
        return match[1].lower() + ("" if host is None else "//" + host.rpartition("@")[2].lower())
    end = url.find("/", 8)  # 8: length of "https://"; an empty http host is malformed anyway
    key = origin_of(url if end < 0 else url[:end])
    if key is None:  # unusual slashes, as in "http:a" or " https:/a"
        href = resolve(url)
        key = None if href is None else origin_of(href[: href.index("/", 8)])
    if key is None:
        port = _port(url)
        what = "no scheme and host" if port is None or int(port[1]) < 65_536 else f"port {port[1]} is above 65535"
        raise ValueError(f"{what} in URL {_shortened(url)!r}")
    return key


def host_of(key: str) -> str:
    """The host of a canonical server key or URL, an IPv6 address without its brackets; "" if there is none.

    >>> host_of("https://example.org:8080"), host_of("http://[::1]:80"), host_of("data:")
    ('example.org', '::1', '')
    """
    netloc = key.partition("://")[2].partition("/")[0]
    if netloc.startswith("["):
        return netloc[1 : netloc.find("]")]
    return netloc.partition(":")[0]


def end_of_host(key: str) -> str:
    """The last two labels of the server *key*'s host: an end of its registered domain. O(length).

    >>> end_of_host("https://www.example.org:8080"), end_of_host("http://www.example.co.uk")
    ('example.org', 'co.uk')
    """
    return ".".join(host_of(key).rsplit(".", 2)[-2:])


def domain_of_server(key: str) -> str:
    """The registered domain of the server *key*; its host if that is an IP address, localhost, or a public suffix.

    O(labels): 4-6 us, 0.3 us if the host is cached.

    >>> domain_of_server("https://www.example.co.uk:8080")
    'example.co.uk'
    """
    return _registered_domain(host_of(key).lower())


def has_public_suffix(host: str) -> bool:
    """Whether *host* ends in a public suffix, as Internet hosts do. O(labels).

    >>> has_public_suffix("example.co.uk"), has_public_suffix("seeds.txt")
    (True, False)
    """
    return bool(_domains()(host.lower()).suffix)


@lru_cache(maxsize=1)
def suffix_list_id() -> str:
    """Identifies the list of public suffixes by its content: two lists with one id give the same domains. 10 ms."""
    return blake2b("\n".join(sorted(_domains().tlds)).encode(), digest_size=8).hexdigest()


@lru_cache(maxsize=65_536)
def _registered_domain(host: str) -> str:
    return _domains()(host).top_domain_under_public_suffix or host


@lru_cache(maxsize=1)
def _domains() -> TLDExtract:
    """Splits hosts by the Public Suffix List bundled with tldextract: no network, no files written."""
    import tldextract  # few crawls need domains: 2 MB

    return tldextract.TLDExtract(suffix_list_urls=(), cache_dir=None)


def _shortened(url: str) -> str:
    """*url* cut to 80 characters, for messages."""
    return url if len(url) <= 80 else f"{url[:77]}..."
