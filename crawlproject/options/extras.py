"""Optional dependencies: names the extra of this package that installs a missing one."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


class MissingExtraError(ValueError):
    """A feature was asked for whose dependencies are not installed; the message says what to install."""


@contextmanager
def needs_extra(feature: str, extra: str) -> Iterator[None]:
    """Around imports that ``feature`` (a setting with its value, a command) needs. Raises MissingExtraError."""
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("crawlproject"):
            raise
        # the package is on no index
        command = f"pip install '.[{extra}]' in crawlproject's checkout, or with its wheel's path for the dot"
        raise MissingExtraError(f"{feature} needs: {command} (no module {error.name!r})") from error


@contextmanager
def command_needs_extra(command: str, extra: str) -> Iterator[None]:
    """Around imports of ``scrapy COMMAND``: one line and exit code 1 where they fail."""
    try:
        with needs_extra(f"scrapy {command}", extra):
            yield
    except MissingExtraError as error:
        raise SystemExit(str(error)) from None  # Python writes it to standard error
