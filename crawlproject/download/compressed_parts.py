"""Compressed bodies: the number of their parts is bounded, and whether they are complete is known.

Parts are gzip members or zstd frames: each costs as much as 2 kB of text.
"""

from __future__ import annotations

import sys
import zlib
from typing import TYPE_CHECKING, Any

import brotli

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Callable

#: Parts of one body that are decompressed. A part of 10 bytes takes up to 20 us of CPU, so a body of
#: ``DOWNLOAD_MAXSIZE`` could take a minute, and all other large pages would wait for it.
MAX_PARTS = 10_000

#: What is decompressed to find the end of a body; behind that it counts as complete. 0.2 s.
MAX_SEARCHED = 1 << 26

#: Bytes decompressed at a time.
_PIECE = 1 << 16

# What parts begin with; a zstd frame that is to be skipped has any of 16 bytes before this.
_MAGIC = {"gzip": (b"\x1f\x8b\x08",), "zstd": (b"\x28\xb5\x2f\xfd", b"\x2a\x4d\x18")}
_GZIP = b"\x1f\x8b"

#: What decompressors raise for invalid data.
DAMAGED = (OSError, EOFError, zlib.error, brotli.error, zstd.ZstdError)


def check_parts(body: bytes, encoding: str) -> None:
    """Raise OSError if ``body`` has too many parts. O(length): 1 ms for a megabyte."""
    if sum(map(body.count, _MAGIC.get(encoding.removeprefix("x-"), ()))) > MAX_PARTS:
        raise OSError(f"more than {MAX_PARTS} parts")


def content_of(body: bytes, encoding: str, max_size: int) -> bytes | None:
    """The content of a complete body of one part, of at most ``max_size`` > 0 bytes; None of any other.

    Half the time of Scrapy's decompressors, which do not say whether a body is complete.
    """
    make = _STREAMS.get(encoding.removeprefix("x-"))
    if make is None:
        return None
    decoder = make(body)
    try:
        content = decoder.decompress(body, max_size)
    except DAMAGED:
        return None
    return content if decoder.eof and not decoder.unused_data and len(content) <= max_size else None


def is_cut(body: bytes, encoding: str) -> bool:
    """Whether ``body`` ends before its compressed data does; False if it is damaged, or of an unknown encoding.

    O(length of the content), at most ``MAX_SEARCHED``; few pieces of it are in memory at a time.
    """
    try:
        check_parts(body, encoding)
        return not _ends(body, encoding.removeprefix("x-"))
    except DAMAGED:
        return False


def _ends(body: bytes, encoding: str) -> bool:
    make = _STREAMS.get(encoding)
    size = 0
    while make is not None and body:
        decoder = make(body)
        rest = body
        while not decoder.eof:
            content = decoder.decompress(rest, _PIECE)
            rest = getattr(decoder, "unconsumed_tail", b"")  # others keep it
            size += len(content)
            if size > MAX_SEARCHED:
                return True
            if not content and not rest and not decoder.eof:
                return False
        body = decoder.unused_data
        if encoding == "gzip" and not body.startswith(_GZIP):  # padding
            return True
        if encoding == "deflate":
            return True
    return True


class _Brotli:
    """Brotli's decompressor with the interface of the others."""

    unused_data = b""

    def __init__(self) -> None:
        self._stream = brotli.Decompressor()

    @property
    def eof(self) -> bool:
        return bool(self._stream.is_finished())

    def decompress(self, data: bytes, max_size: int) -> bytes:
        content: bytes = self._stream.process(data, output_buffer_limit=max_size)
        return content


def _inflater(body: bytes) -> Any:
    """For zlib's format, which "deflate" means, or for raw data, which some servers send."""
    is_zlib = len(body) >= 2 and body[0] & 0x0F == 8 and int.from_bytes(body[:2], "big") % 31 == 0
    return zlib.decompressobj() if is_zlib else zlib.decompressobj(-zlib.MAX_WBITS)


_STREAMS: dict[str, Callable[[bytes], Any]] = {
    "gzip": lambda _body: zlib.decompressobj(16 + zlib.MAX_WBITS),
    "deflate": _inflater,
    "br": lambda _body: _Brotli(),
    "zstd": lambda _body: zstd.ZstdDecompressor(),
}
