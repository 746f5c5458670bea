"""Learns how large the answers to URLs with an extension are, so that large files come late where bytes are limited.

A URL's bytes are its server's, times the mean size of its extension relative to that of all answers.  O(1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlproject.frontier.learning.file_kinds import extension_of
from crawlproject.frontier.state import Stored

if TYPE_CHECKING:
    from crawlproject.frontier.state import StateReader

#: Extensions with a mean of their own, the first ones met; longer ones have none.
MAX_EXTENSIONS, MAX_LENGTH = 100, 8
#: Weight of the mean of all answers beside an extension's own, in answers.
USUAL_ANSWERS = 4


def _counts(state: StateReader, key: str, _: object) -> dict[str, int]:
    return state.counts(key)


class FileSizes(Stored):
    """Answers and bytes of each extension; URLs without one, and with another, are one class."""

    STATE = (("answers", "_answers", _counts), ("bytes", "_bytes", _counts))

    def __init__(self) -> None:
        self._answers: dict[str, int] = {}
        self._bytes: dict[str, int] = {}

    def learn(self, url: str, size: int) -> None:
        """Learn the bytes of the answer of the canonical ``url``. O(length)."""
        kept = _class_of(url)
        if kept not in self._answers and len(self._answers) > MAX_EXTENSIONS:
            kept = ""
        for name in ("*", kept):  # * has all of them
            self._answers[name] = self._answers.get(name, 0) + 1
            self._bytes[name] = self._bytes.get(name, 0) + size

    def relative(self, url: str) -> float:
        """Expected bytes of the canonical ``url``, as a multiple of those of other URLs of its server. O(length)."""
        answers, usual = self._answers, self._bytes.get("*", 0)
        if not usual:
            return 1.0
        kept = _class_of(url)
        kept = kept if kept in answers else ""
        own = self._bytes.get(kept, 0) * answers["*"] / usual
        return (own + USUAL_ANSWERS) / (answers.get(kept, 0) + USUAL_ANSWERS)


def _class_of(url: str) -> str:
    extension = extension_of(url)
    return extension if len(extension) <= MAX_LENGTH and extension.isalnum() else ""
