"""The file ``snapshot.json``: replaced as a whole."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from crawlproject.storage.replacing import replace_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FILE_NAME = "snapshot.json"

VERSION = 2

#: Largest file that is read.
MAX_BYTES = 8_000_000


def write_snapshot(path: Path, snapshot: Mapping[str, Any]) -> None:
    """Replace the file in one step. Raises OSError."""
    replace_file(path, json.dumps(snapshot, separators=(",", ":"), default=str), is_durable=False)  # for reports only


def read_snapshot(path: Path) -> dict[str, Any]:
    """Raises OSError, ValueError for a damaged file or one of another version."""
    if path.stat().st_size > MAX_BYTES:
        raise ValueError(f"{path}: damaged: more than {MAX_BYTES} bytes")
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: damaged: {error!s:.100}") from error
    if not isinstance(found, dict) or found.get("version") != VERSION:
        raise ValueError(f"{path}: damaged, or of a version that is not known")
    return found
