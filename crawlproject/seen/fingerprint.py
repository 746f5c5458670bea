"""Keys of canonical URLs in the seen-set: 8-byte checksums as in Mercator (Heydon & Najork 1999), and on disk a
corrected version of the two-level key of Li 2003.

Number of lost URLs: the seen-set takes two URLs with the same key for one.  The expected number of such pairs among n
URLs with keys of b bits is n²/2^(b+1): 10^18 / 2^65 = 0.027 for a billion URLs and 64 bits, 2.7 for 10 billion.

Li's key is 24 bits of the server's hash before 40 bits of the *path's*.  Of 10 million servers, (10^7)²/2^25 = 3
million pairs share the 24 bits, and both servers of a pair have "/": 3 million home pages are lost.  So here the low
part is 64 bits of the *whole* URL, which identify it alone; the server's 32 bits before it only keep the URLs of a
server together on disk.  Without a disk, the low part is the key.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b

from crawlproject.urls.server_key import server_key

FINGERPRINT_BYTES = 8
SERVER_BYTES = 4
KEY_BYTES = SERVER_BYTES + FINGERPRINT_BYTES

_FINGERPRINT_BITS = 8 * FINGERPRINT_BYTES
_HTTP = ("http://", "https://")
#: Characters of a URL before its path, at most, that are worth a place in the cache: longer than any DNS name.
_MAX_PREFIX = 300


def url_fingerprint(url: str) -> int:
    """Fingerprint of a canonical URL: 64 bits, independent of the order of query parameters.

    blake2b, so that nobody can craft a URL that collides with another page's.  O(length): 1.2 us.
    """
    if "&" in url:
        path, mark, query = url.partition("?")
        if mark:
            url = f"{path}?{'&'.join(sorted(query.split('&')))}"
    digest = blake2b(url.encode("utf-8", "surrogatepass"), digest_size=FINGERPRINT_BYTES).digest()
    return int.from_bytes(digest, "big")


def bytes_fingerprint(data: bytes) -> int:
    """Fingerprint of other data that identifies a request. O(length)."""
    return int.from_bytes(blake2b(data, digest_size=FINGERPRINT_BYTES).digest(), "big")


def url_key(url: str) -> int:
    """Key of a canonical URL on disk: 32 bits of its server, 64 bits of the whole URL. O(length): 2 us.

    Sorted by key, as int or as ``key_bytes``, the URLs of a server are adjacent.
    """
    return server_part(url) | url_fingerprint(url)


def server_part(url: str) -> int:
    """The part of a key that ``url`` shares with all URLs of its server: 32 bits, shifted by 64.

    A URL without a server gets the part of "".
    """
    end = url.find("/", 8)  # 8: length of "https://"
    prefix = url if end < 0 else url[:end]
    if len(prefix) > _MAX_PREFIX or not prefix.startswith(_HTTP) or prefix.endswith("/"):
        return _part_of.__wrapped__(url)
    return _part_of(prefix)  # the part before the path of an http(s) URL has the same server key


@lru_cache(maxsize=4096)  # a page's links lead to few servers, and the next page's to the same
def _part_of(url: str) -> int:
    try:
        server = server_key(url)
    except ValueError:
        server = ""
    digest = blake2b(server.encode("utf-8", "surrogatepass"), digest_size=SERVER_BYTES).digest()
    return int.from_bytes(digest, "big") << _FINGERPRINT_BITS


def key_bytes(key: int) -> bytes:
    """``url_key`` as stored on disk: 12 bytes with the same order as the ints."""
    return key.to_bytes(KEY_BYTES, "big")
