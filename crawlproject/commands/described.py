"""What ``scrapy -h`` and ``scrapy COMMAND -h`` say of a command."""

from __future__ import annotations


class Described:
    """Base of commands: the texts are attributes."""

    #: Arguments; one line for the list of commands; what ``--help`` says.
    usage = summary = explanation = ""

    def syntax(self) -> str:
        """See ``ScrapyCommand``."""
        return self.usage

    def short_desc(self) -> str:
        """See ``ScrapyCommand``."""
        return self.summary

    def long_desc(self) -> str:
        """See ``ScrapyCommand``."""
        return self.explanation
