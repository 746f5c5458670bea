"""``scrapy pagerank``: computes PageRank from the links recorded by a crawl (``FRONTIER_LINKS_FILE``)."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from sys import stdout
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from crawlproject.commands.described import Described
from crawlproject.options.extras import command_needs_extra

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace


class Command(Described, ScrapyCommand):
    """Writes ``URL<TAB>score`` for each URL of a link file, for ``FRONTIER_QUALITY = "scores"``.

    PageRank, damping 0.85, over all URLs in the file; URLs that were not fetched are pages without links.  The mean
    score is 1.  3.2 million links of 325,000 pages take 10 to 20 s and 0.8 GB.
    """

    requires_crawler_process = False
    usage = "[options] <link file>"
    summary = "Compute PageRank from the links recorded by a crawl"
    explanation = (
        "Read lines URL<TAB>link<TAB>link... (the format of FRONTIER_LINKS_FILE) from a file, and write lines"
        " URL<TAB>PageRank, best first (the format of FRONTIER_QUALITY_FILE)."
    )

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("-o", "--output", metavar="FILE", help="write the scores to FILE (standard output)")

    def run(self, args: list[str], opts: Namespace) -> None:
        with command_needs_extra("pagerank", "simulation"):
            from crawlproject.simulation.pagerank import pagerank
        from crawlproject.simulation.link_file import read_link_file

        if len(args) != 1:
            raise UsageError("expected a link file", print_help=False)
        try:
            links = read_link_file(args[0])
            scores = pagerank(links.indptr, links.targets) * len(links.urls)
            best_first = (-scores).argsort(kind="stable").tolist()
            with nullcontext(stdout) if opts.output is None else Path(opts.output).open("w", encoding="utf-8") as file:
                file.writelines(f"{links.urls[page]}\t{scores[page]:.6g}\n" for page in best_first)
        except OSError as error:
            raise UsageError(str(error), print_help=False) from error
