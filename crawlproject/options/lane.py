"""The setting of the fast lane (docs/how-it-works.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from crawlproject.options.values import Options, Reader

LANES = ("auto", "off")


@dataclass(frozen=True)
class LaneOptions(Options):
    """Whether pages may take the fast lane."""

    is_on: bool

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """See ``Options``."""
        return cls(is_on=reader.choice("FRONTIER_FAST_LANE", "auto", LANES) == "auto")
