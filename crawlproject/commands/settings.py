"""``scrapy settings --get NAME``: Scrapy's command, which knows this project's defaults, too."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands import settings

from crawlproject import (
    duplicate_options,
    network_options,
    options,
    repository_options,
    robots_options,
    seen_options,
    trap_options,
)
from crawlproject.monitor import options as monitor_options

if TYPE_CHECKING:
    import argparse

MODULES = (
    duplicate_options,
    monitor_options,
    network_options,
    options,
    repository_options,
    robots_options,
    seen_options,
    trap_options,
)


class Command(settings.Command):
    """Shows the default of a setting that the project has not set."""

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        """See ``ScrapyCommand``."""
        assert self.settings is not None
        for module in MODULES:
            for name, value in module.DEFAULTS.items():
                if name not in self.settings:
                    self.settings.set(name, value, priority="default")
        super().run(args, opts)
