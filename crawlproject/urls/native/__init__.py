"""Parts of this package in C: they compute the same as Python with less CPU, where they could be compiled.

A part is a ``.pyx`` file in this folder, which ``setup.py`` compiles with the checksum of the file.  A part that was
compiled from any other text than the one that lies beside it now is not used.  The environment variable
``CRAWLPROJECT_NATIVE=off`` keeps all out, to compare both.
"""

from __future__ import annotations

import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

if TYPE_CHECKING:
    from types import ModuleType

_FOLDER = Path(__file__).parent

#: Names of all parts.
PARTS = tuple(sorted(path.stem for path in _FOLDER.glob("*.pyx")))


def compiled(part: str) -> ModuleType | None:
    """The module of a part; None: it is not compiled, or from another text, and Python has to do. O(text)."""
    if os.environ.get("CRAWLPROJECT_NATIVE") == "off":
        return None
    try:
        module = import_module(f"{__name__}.{part}")
        return module if crc32((_FOLDER / f"{part}.pyx").read_bytes()) == module.SOURCE else None
    except (ImportError, OSError, AttributeError):  # not compiled, for another Python, or too old to say from what
        return None
