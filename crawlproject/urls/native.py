"""Finds the extension in C (folder ``native/``), which computes the same results as this package with less CPU.

It is optional.  The environment variable ``CRAWLPROJECT_NATIVE=off`` keeps it out, to compare both.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import ModuleType

#: Of the extension, whose own number changes whenever a result changes; another one is not used.
INTERFACE = 2


def _installed() -> ModuleType | None:
    if os.environ.get("CRAWLPROJECT_NATIVE") == "off":
        return None
    try:
        module = import_module("crawlproject_native")
    except ImportError:  # not installed, or built for another Python
        return None
    return module if getattr(module, "INTERFACE", None) == INTERFACE else None


#: None: not installed.
NATIVE = _installed()
