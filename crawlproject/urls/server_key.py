"""The server of a URL, the registered domain of a server, and the names of servers that people type.

A typed name, in arguments, settings, files or the console, is a server (``https://example.org:8080``), a host with a
port (``example.org:8080``), or a host or domain, which covers its subdomains with any scheme and port.  All places read
them by :func:`server_name`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b
from typing import TYPE_CHECKING, Generic, TypeVar

from crawlproject.urls.canonical import origin_of, resolve

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tldextract import TLDExtract

T = TypeVar("T")

_other_scheme = re.compile(r"(?!https?:)([a-z][a-z0-9+.-]*:)(?://([^/?#\\\s]*))?", re.IGNORECASE | re.ASCII).match
_HTTP = ("http://", "https://")

#: Servers that a table remembers.
MAX_KNOWN = 65_536

#: Maximum length of a name: a host name has at most 253 characters.
MAX_NAME = 300

_DEFAULT_PORTS = {"http": "80", "https": "443"}
_parts = re.compile(r"(\[[^\]]*\]|[^:/?#@\\\s\[]+)(?::([0-9]{1,5}))?").fullmatch

#: A host, and a prefix, that are canonical already: lower case, no default port, no number that could be an IP
#: address, no IDNA.
_PLAIN = r"(?:(?!xn--)[a-z0-9-]+\.)+(?!xn--)[a-z]{2,63}"
_plain_host = re.compile(_PLAIN).fullmatch
_plain_prefix = re.compile(
    rf"https?://{_PLAIN}"
    r"(?::(?!80/|443/)(?:[1-9][0-9]{1,3}|[1-5][0-9]{4}))?(?=/)"
).match


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
        raise ValueError(f"no scheme and host in URL {url[:80]!r}")
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


def server_name(text: str) -> str:
    """The canonical form of a name, however it is typed: the spelling of hosts is that of canonical URLs. O(length).

    Raises ValueError for anything else.

    >>> server_name("HTTPS://Example.org:443/a"), server_name(" *.Example.ORG. "), server_name("MÜNCHEN.example:080")
    ('https://example.org', 'example.org', 'xn--mnchen-3ya.example:80')
    >>> server_name("[::1]"), server_name("[0::1]:80"), server_name("127.1:8080")
    ('::1', '[::1]:80', '127.0.0.1:8080')
    """
    text = text.strip()
    if len(text) <= MAX_NAME:
        name = _key(text) if "://" in text else _host(text.removeprefix("*." if text.startswith("*.") else "."))
        if name is not None and "*" not in name and ".." not in name:
            return name
    raise ValueError(f"not a server (http://host:port), host, host:port or domain: {text[:MAX_NAME]!r}")


def _key(text: str) -> str | None:
    try:
        key = server_key(text)
    except ValueError:
        return None
    return key if key.startswith(("http://", "https://")) else None


def _host(text: str) -> str | None:
    if _plain_host(text):
        return text
    match = _parts(f"[{text}]" if text.count(":") > 1 and not text.startswith("[") else text)
    origin = None if match is None else origin_of(f"http://{match[1]}")
    if match is None or origin is None:
        return None
    if match[2] is None:
        return host_of(origin)
    port = int(match[2])
    return f"{origin.removeprefix('http://')}:{port}" if port < 65_536 else None


def keys_of(name: str) -> list[str]:
    """The keys of the servers that a canonical name may stand for, if it stands for one. O(length).

    >>> keys_of("http://a.example:80"), keys_of("a.example"), keys_of("[::1]:80")
    (['http://a.example'], ['https://a.example', 'http://a.example'], ['https://[::1]:80', 'http://[::1]'])
    """
    if "://" in name:
        return [server_key(name)]
    host = f"[{name}]" if name.count(":") > 1 and not name.startswith("[") else name
    return [server_key(f"{scheme}://{host}") for scheme in ("https", "http")]


def host_in(name: str) -> str:
    """The host in a canonical name. O(length).

    >>> host_in("https://a.example:80"), host_in("a.example:80"), host_in("::1"), host_in("[::1]:80")
    ('a.example', 'a.example', '::1', '::1')
    """
    if "://" in name or name.count(":") < 2 or name.startswith("["):
        return host_of(name if "://" in name else f"http://{name}")
    return name


def slot_name(text: str) -> str:
    """What ``server_name`` returns; of ``.example.org`` and ``*.example.org`` with a dot before it. O(length).

    For ``DOWNLOAD_SLOTS``, where a host without a dot does not cover its subdomains, and other names, which are
    unchanged, are those of slots that requests choose.
    """
    try:
        name = server_name(text)
    except ValueError:
        return text
    return f".{name}" if text.strip().startswith((".", "*.")) else name


def slot_names(key: str) -> list[str]:
    """The slot names that cover the server *key*, the most specific ones first. O(labels).

    >>> slot_names("http://a.b:8080")
    ['http://a.b:8080', 'a.b:8080', 'a.b', '.a.b:8080', '.a.b', '.b:8080', '.b']
    """
    names = list(names_of(key))
    return names[:3] + [f".{name}" for name in names[1:]]


def names_of(key: str) -> Iterator[str]:
    """The canonical names that cover the server *key*, the most specific ones first. O(labels).

    >>> list(names_of("https://a.example"))
    ['https://a.example', 'a.example:443', 'a.example', 'example:443', 'example']
    """
    yield key
    scheme, _, netloc = key.partition("://")
    host = host_of(key)
    port = netloc.rpartition(":")[2]
    if not port.isdecimal() or netloc == port:  # no port; an IPv6 address ends with a bracket
        port = _DEFAULT_PORTS.get(scheme, "")
    while host:
        yield f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        yield host
        host = host.partition(".")[2]


class DomainTable(Generic[T]):
    """Canonical name -> value; finds the value of the most specific name that covers the server of a URL.

    >>> table = DomainTable({"example": 1, "b.example": 2})
    >>> table.of("https://a.b.example/c"), table.of("http://example/"), table.of("http://c.test/"), table.of("x")
    (2, 1, None, None)
    """

    def __init__(self, by_name: Mapping[str, T]) -> None:
        self.by_name = by_name
        self._of_server = lru_cache(MAX_KNOWN)(self._find)

    def of(self, url: str) -> T | None:
        """O(labels): 5 us for each server, 6 us if its URL is not canonical; 0.5 us for a known one."""
        try:
            key = server_key(url)
        except ValueError:  # no host
            return None
        return self._of_server(key)

    def _find(self, key: str) -> T | None:
        return next((found for name in names_of(key) if (found := self.by_name.get(name)) is not None), None)


def covers(name: str, key: str) -> bool:
    """Whether the canonical *name* covers the server *key*. O(length)."""
    return name in names_of(key)
