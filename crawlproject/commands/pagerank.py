"""``scrapy pagerank``: computes PageRank from the links recorded by a crawl (``FRONTIER_LINKS_FILE``)."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError
from scrapy.utils.log import configure_logging

from crawlproject.commands.described import Described
from crawlproject.options.extras import command_needs_extra

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator
    from typing import TextIO

    from crawlproject.simulation.link_file import LinkFile

logger = logging.getLogger(__name__)

#: Names of the link file in a JOBDIR, in the order of search.
LINK_FILES = ("links.tsv.gz", "links.tsv")


class Command(Described, ScrapyCommand):
    """Writes ``URL<TAB>score`` for each URL of a link file, for ``FRONTIER_QUALITY = "scores"``.

    PageRank, damping 0.85, over all URLs in the file; URLs that were not fetched are pages without links.  The mean
    score is 1.  3.2 million links of 325,000 pages take 10 to 20 s and 0.8 GB.
    """

    requires_crawler_process = False
    usage = "[options] <link file | JOBDIR>"
    summary = "Compute PageRank from the links recorded by a crawl"
    explanation = (
        "Read lines URL<TAB>link<TAB>link... (the format of FRONTIER_LINKS_FILE) from a file, or from links.tsv.gz in a"
        " JOBDIR, and write lines URL<TAB>PageRank, best first (the format of FRONTIER_QUALITY_FILE)."
    )

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("-o", "--output", metavar="FILE", help="write the scores to FILE (standard output)")

    def run(self, args: list[str], opts: Namespace) -> None:
        with command_needs_extra("pagerank", "simulation"):
            import crawlproject.simulation.pagerank  # noqa: F401 - also before a long file is read
        configure_logging(self.settings)
        if len(args) != 1 or args[0].startswith("-"):
            raise UsageError(f"expected a link file or a JOBDIR, got {' '.join(args) or 'nothing'}", print_help=False)
        path = _link_file(Path(args[0]))
        links = _read(path)
        if opts.output is None:
            _write(links, sys.stdout)
            return
        try:
            with Path(opts.output).open("w", encoding="utf-8") as file:
                _write(links, file)
        except OSError as error:
            raise UsageError(f"--output {opts.output}: {error.strerror}", print_help=False) from error


def _link_file(path: Path) -> Path:
    if not path.is_dir():
        return path
    for name in LINK_FILES:
        if (path / name).is_file():
            return path / name
    raise UsageError(
        f"{path}: no {LINK_FILES[0]} in it; crawl with FRONTIER_LINKS_FILE={LINK_FILES[0]}", print_help=False
    )


def _read(path: Path) -> LinkFile:
    from crawlproject.simulation.link_file import read_link_file

    try:
        links = read_link_file(path)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}", print_help=False) from error
    if not links.urls:
        raise UsageError(f"{path}: no line of the form URL<TAB>link<TAB>link...", print_help=False)
    level = logging.WARNING if links.damaged else logging.INFO
    found = (path, links.pages, len(links.urls), len(links.targets), links.damaged)
    logger.log(level, "%s: %d pages, %d URLs, %d links; %d damaged lines skipped", *found)
    return links


def _write(links: LinkFile, file: TextIO) -> None:
    file.writelines(_lines(links))


def _lines(links: LinkFile) -> Iterator[str]:
    """URL and score, best first. O(URLs log URLs) in addition to PageRank."""
    from crawlproject.simulation.pagerank import pagerank

    scores = pagerank(links.indptr, links.targets) * len(links.urls)
    for page in (-scores).argsort(kind="stable").tolist():
        yield f"{links.urls[page]}\t{scores[page]:.6g}\n"
