"""Keys of canonical URLs in the seen-set: 8-byte checksums as in Mercator (Heydon & Najork 1999), and on disk the
two-level key of Li 2003, put right.

How many URLs are lost?  Two that share a key are one to the seen-set; of n URLs with keys of b bits that happens to
n²/2^(b+1) by chance.  A billion URLs, 64 bits: 10^18 / 2^65 = 0.027, so less than one; 10 billion lose 2.7.

Li's key is 24 bits of the server's hash before 40 bits of the *path's*.  Of 10 million servers (10^7)²/2^25 = 3 million
pairs share the 24 bits, and each pair has "/": 3 million home pages lost.  So here the low part is 64 bits of the
*whole* URL: it tells URLs apart on its own, the server's 32 bits before it only bring those of a server together on
disk.  Where there is no disk, the low part is the key.
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import blake2b

from crawlproject.urls.server_key import server_key

FINGERPRINT_BYTES = 8
SERVER_BYTES = 4
KEY_BYTES = SERVER_BYTES + FINGERPRINT_BYTES

_FINGERPRINT_BITS = 8 * FINGERPRINT_BYTES


def url_fingerprint(url: str) -> int:
    """Fingerprint of a canonical URL: 64 bits; the order of query parameters does not matter.

    blake2b, so that nobody can craft a page's URL to collide with another's.  O(length): 1.2 us.
    """
    if "&" in url:
        path, mark, query = url.partition("?")
        if mark:
            url = f"{path}?{'&'.join(sorted(query.split('&')))}"
    return bytes_fingerprint(url.encode("utf-8", "surrogatepass"))


def bytes_fingerprint(data: bytes) -> int:
    """Fingerprint of anything else that identifies a request. O(length)."""
    return int.from_bytes(blake2b(data, digest_size=FINGERPRINT_BYTES).digest(), "big")


def url_key(url: str) -> int:
    """Key of a canonical URL on disk: 32 bits of its server, 64 bits of all of it. O(length): 2 us.

    In order of keys, as ints or as ``key_bytes``, the URLs of a server follow each other.
    """
    return server_part(url) | url_fingerprint(url)


def server_part(url: str) -> int:
    """The part of a key that ``url`` shares with all URLs of its server: 32 bits, shifted by 64.

    That of "" where ``url`` has no server.
    """
    try:
        server = server_key(url)
    except ValueError:
        server = ""
    return _server_hash(server) << _FINGERPRINT_BITS


@lru_cache(maxsize=4096)  # a page's links lead to few servers, and the next page's to the same
def _server_hash(server: str) -> int:
    return int.from_bytes(blake2b(server.encode("utf-8", "surrogatepass"), digest_size=SERVER_BYTES).digest(), "big")


def key_bytes(key: int) -> bytes:
    """``url_key`` as it stands on disk: 12 bytes that sort as the ints do."""
    return key.to_bytes(KEY_BYTES, "big")
