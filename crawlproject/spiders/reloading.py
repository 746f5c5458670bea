"""Loads changed and new modules of spiders while the crawl runs."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.utils.spider import iter_spider_classes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scrapy import Spider


class Modules:
    """The modules in the packages ``names`` (``SPIDER_MODULES``), imported so far."""

    def __init__(self, names: Iterable[str]) -> None:
        self._packages = tuple(names)
        self._seen = {name: _changed_at(name) for name in self._names()}

    def changed(self) -> tuple[list[type[Spider]], dict[str, str]]:
        """The spider classes of modules that are new, or have changed since the last call; module -> why it cannot be
        loaded. A module that raises is loaded again when it changes again.
        """
        importlib.invalidate_caches()
        classes: list[type[Spider]] = []
        errors: dict[str, str] = {}
        for name in self._names():
            at = _changed_at(name)
            if name in self._seen and at == self._seen[name]:
                continue
            self._seen[name] = at
            known = sys.modules.get(name)
            try:
                module = importlib.import_module(name) if known is None else importlib.reload(known)
            except Exception as error:  # noqa: BLE001 - whatever it raises, the old classes stay in force
                errors[name] = f"{type(error).__name__}: {error}"
            else:
                classes += iter_spider_classes(module)
        return classes, errors

    def _names(self) -> Iterator[str]:
        for name in self._packages:
            package: Any = sys.modules.get(name)
            yield name
            for found in pkgutil.walk_packages(getattr(package, "__path__", ()), f"{name}.", onerror=lambda _: None):
                yield found.name


def _changed_at(name: str) -> tuple[int, int] | None:
    """When its file was changed, and its size; None for what has none."""
    module = sys.modules.get(name)
    file = getattr(module, "__file__", None)
    if file is None:
        return None
    try:
        status = Path(file).stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size
