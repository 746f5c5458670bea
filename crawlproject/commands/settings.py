"""``scrapy settings --get NAME``: Scrapy's command, which also knows this project's defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.commands import settings

if TYPE_CHECKING:
    import argparse


class Command(settings.Command):
    """Shows the default value of a setting that the project has not set."""

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        from crawlproject.options.all_settings import DEFAULTS

        assert self.settings is not None
        for name, value in DEFAULTS.items():
            if name not in self.settings:
                self.settings.set(name, value, priority="default")
        super().run(args, opts)
