"""The workers' own folders, as ``scrapy workers`` names them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

#: Pattern of their names.
WORKER_FOLDERS = "worker-*"


def in_order(folders: Iterable[Path]) -> list[Path]:
    """By their numbers: ``worker-2`` before ``worker-10``. O(n log n)."""
    return sorted(folders, key=lambda folder: (len(folder.name), folder.name))
