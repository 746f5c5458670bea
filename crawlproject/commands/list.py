"""``scrapy list``: the spiders of the project, and what each is for."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from scrapy.commands import list as scrapy_list

if TYPE_CHECKING:
    import argparse

    from scrapy import Spider

#: Set by scrapyd when it asks for the spiders of a project: it takes each line as a name.
_SCRAPYD = "SCRAPY_PROJECT"


class Command(scrapy_list.Command):
    """A line for each spider: its name, spaces, and the first line of its documentation."""

    def short_desc(self) -> str:
        return "List available spiders, and what each is for"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--names", action="store_true", help="only the names")

    def run(self, args: list[str], opts: argparse.Namespace) -> None:
        from scrapy.spiderloader import get_spider_loader

        assert self.settings is not None
        loader = get_spider_loader(self.settings)
        names = sorted(loader.list())
        is_short = opts.names or _SCRAPYD in os.environ
        width = max(map(len, names), default=0)
        for name in names:
            purpose = "" if is_short else purpose_of(loader.load(name))
            print(f"{name:{width}}  {purpose}".rstrip() if purpose else name)  # noqa: T201


def purpose_of(spider: type[Spider]) -> str:
    """The first line that documents a spider: of its module, if it is the only one there, else of its class."""
    from scrapy.utils.spider import iter_spider_classes

    module = sys.modules[spider.__module__]
    own = [spider.__doc__ if "__doc__" in vars(spider) else None]
    is_only = len(list(iter_spider_classes(module))) == 1
    texts = [module.__doc__, *own] if is_only else [*own, module.__doc__]
    return next((text.strip().splitlines()[0] for text in texts if text and text.strip()), "")
