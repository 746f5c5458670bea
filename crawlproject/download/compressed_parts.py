"""Bounds the number of parts, gzip members or zstd frames, of a compressed body: each costs as much as 2 kB of text."""

from __future__ import annotations

#: Parts of one body that are decompressed. A part of 10 bytes takes up to 20 us of CPU, so a body of
#: ``DOWNLOAD_MAXSIZE`` could take a minute, and all other large pages would wait for it.
MAX_PARTS = 10_000

# What parts begin with; a zstd frame that is to be skipped has any of 16 bytes before this.
_MAGIC = {"gzip": (b"\x1f\x8b\x08",), "zstd": (b"\x28\xb5\x2f\xfd", b"\x2a\x4d\x18")}


def check_parts(body: bytes, encoding: str) -> None:
    """Raise OSError if ``body`` has too many parts. O(length): 1 ms for a megabyte."""
    if sum(map(body.count, _MAGIC.get(encoding.removeprefix("x-"), ()))) > MAX_PARTS:
        raise OSError(f"more than {MAX_PARTS} parts")
