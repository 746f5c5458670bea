"""Parts of this package in C: they compute the same as Python with less CPU, where they could be compiled.

A part is a ``.pyx`` file in this folder, which ``setup.py`` compiles.  The environment variable
``CRAWLPROJECT_NATIVE=off`` keeps all out, to compare both.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

#: Names of all parts.
PARTS = ("shingles",)


def compiled(part: str) -> ModuleType | None:
    """The module of a part; None: it is not compiled, or for another Python."""
    if os.environ.get("CRAWLPROJECT_NATIVE") == "off":
        return None
    try:
        return import_module(f"{__name__}.{part}")
    except ImportError:
        return None
