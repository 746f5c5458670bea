"""The settings ``DUPLICATES_*`` (docs/duplicates.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self, cast, get_args

from crawlproject.options.values import Options, Reader

Follow = Literal["none", "near", "all"]


@dataclass(frozen=True)
class DuplicateOptions(Options):
    """Which copies are looked for, and the consequences."""

    exact: bool
    near: bool
    #: Of which copies the links are followed.
    follow: Follow
    #: Least estimated Jaccard coefficient of near-duplicates.
    threshold: float
    #: Pages whose sketches are kept.
    near_pages: int
    #: Factor on a mirror's rank.
    mirror_factor: float

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """See ``Options``."""
        return cls(
            exact=reader.switch("DUPLICATES_EXACT", True),
            near=reader.switch("DUPLICATES_NEAR", True),
            # A near-duplicate may have a link that no other page has.
            follow=cast("Follow", reader.choice("DUPLICATES_FOLLOW", "near", get_args(Follow))),
            # Lower thresholds match pages made from one template (docs/duplicates.md).
            threshold=reader.positive_share("DUPLICATES_THRESHOLD", 0.95),
            # 2^16 sketches: 43 MB when full, and as many URLs.
            near_pages=reader.count("DUPLICATES_NEAR_PAGES", 65_536, least=1, most=10**9),
            # Not 0: a mirror may have some pages of its own.
            mirror_factor=reader.positive_share("DUPLICATES_MIRROR_FACTOR", 0.1),
        )
