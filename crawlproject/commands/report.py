"""``scrapy report JOBDIR``: makes the report of a crawl: finished, running, or killed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from crawlproject.commands.described import Described

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

#: Name of a comparison, in the working directory.
COMPARISON = "comparison.html"


class Command(Described, ScrapyCommand):
    """Changes only the report."""

    requires_crawler_process = False
    usage = "[options] <JOBDIR or FRONTIER_REPORT_DIR> [another one, to compare]"
    summary = "Make the report of a crawl, an HTML file"
    explanation = (
        "Make the report of a crawl from the figures that it keeps in its JOBDIR (or FRONTIER_REPORT_DIR): quality, "
        "pages, connections and queue over time, failures, politeness, servers, and what to change. One HTML file that "
        "needs no network. The crawl may be running, or have been killed. Of scrapy workers: one "
        "report of all workers. Given two directories, a comparison of the two crawls is written to comparison.html."
    )

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("-o", "--output", metavar="FILE", help="where to write it (default: beside the figures)")

    def run(self, args: list[str], opts: Namespace) -> None:
        from crawlproject.monitor.report.compare import write_comparison
        from crawlproject.monitor.report.page import write_report
        from crawlproject.storage.errors import plain_message

        if len(args) not in (1, 2):
            raise UsageError("expected one directory, the crawl's JOBDIR or FRONTIER_REPORT_DIR, or two to compare")
        directories, output = [*map(Path, args)], Path(opts.output) if opts.output else None
        try:
            for directory in directories:
                if not directory.is_dir():
                    raise ValueError(f"{directory}: {'not a' if directory.exists() else 'no such'} directory")
            if output is not None and not output.parent.is_dir():
                raise ValueError(f"--output {output}: there is no folder {output.parent}")
            if len(directories) == 2:
                made = write_comparison(directories, output or Path(COMPARISON))
            else:
                made = write_report(directories[0], output)
        except (OSError, ValueError) as error:
            self.fail(plain_message(error))
            return
        sys.stderr.writelines(f"{problem}\n" for problem in made.problems)
        if made.path.is_file() and not made.path.is_symlink():  # else it may be /dev/stdout itself
            sys.stdout.write(f"{made.path}\n")
