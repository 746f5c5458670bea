"""What ``scrapy -h`` and ``scrapy COMMAND -h`` say of a command."""

from __future__ import annotations

import sys


class Described:
    """Base of commands: the texts are attributes, and failures are told in one line."""

    exitcode: int

    #: Arguments; one line for the list of commands; what ``--help`` says.
    usage = summary = explanation = ""

    def syntax(self) -> str:
        return self.usage

    def short_desc(self) -> str:
        return f"{self.summary} (crawlproject)"  # among the commands of Scrapy and of other packages

    def long_desc(self) -> str:
        return self.explanation

    def fail(self, reason: str) -> None:
        """Tell ``reason`` on standard error; the exit code is 1."""
        sys.stderr.write(f"{reason}\n")
        self.exitcode = 1
