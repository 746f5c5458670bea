"""Names of servers that people type: in arguments, settings, files, the console.

A name is a server (``https://example.org:8080``), a host with a port (``example.org:8080``), or a host or domain, which
covers its subdomains with any scheme and port.  All places read them by :func:`server_name`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from crawlproject.urls.canonical import origin_of
from crawlproject.urls.server_key import host_of, server_key

if TYPE_CHECKING:
    from collections.abc import Iterator

#: Maximum length of a name: a host name has at most 253 characters.
MAX_NAME = 300

_DEFAULT_PORTS = {"http": "80", "https": "443"}
_parts = re.compile(r"(\[[^\]]*\]|[^:/?#@\\\s\[]+)(?::([0-9]{1,5}))?").fullmatch


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


def covers(name: str, key: str) -> bool:
    """Whether the canonical *name* covers the server *key*. O(length)."""
    if "://" in name:
        return name == key
    if ":" in name:
        return name in names_of(key)
    host = host_of(key)
    return host == name or host.endswith(f".{name}")
