"""The settings ``FRONTIER_DUPLICATES_*`` (docs/duplicates.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from crawlproject.options.values import Options, Reader, setting

Follow = Literal["none", "all"]


@dataclass(frozen=True)
class DuplicateOptions(Options):
    """Which copies are looked for, and the consequences.

    FRONTIER_DUPLICATES_EXACT: mark pages with the same bytes as an earlier page
    FRONTIER_DUPLICATES_NEAR: mark pages with nearly the same text as an earlier page
    FRONTIER_DUPLICATES_ALIASES: a host whose CNAME record, address and front page are those of another one is that one:
        links to it are changed ([aliases](duplicates.md#aliases))
    FRONTIER_DUPLICATES_FOLLOW: copies whose links are followed: `none`, `all`
    FRONTIER_DUPLICATES_THRESHOLD: minimum estimated Jaccard coefficient of near-duplicates
    FRONTIER_DUPLICATES_NEAR_PAGES: newest pages with which a page is compared
    """

    exact: bool = setting(Reader.switch, "FRONTIER_DUPLICATES_EXACT", True)
    near: bool = setting(Reader.switch, "FRONTIER_DUPLICATES_NEAR", True)
    aliases: bool = setting(Reader.switch, "FRONTIER_DUPLICATES_ALIASES", True)
    # A near-duplicate may have a link that no other page has.
    follow: Follow = setting(Reader.choice, "FRONTIER_DUPLICATES_FOLLOW", "all", get_args(Follow))
    # Lower thresholds match pages made from one template (docs/duplicates.md).
    threshold: float = setting(Reader.positive, "FRONTIER_DUPLICATES_THRESHOLD", 0.95, 1.0)
    # 2^16 sketches: 43 MB when full, and as many URLs.
    near_pages: int = setting(Reader.count, "FRONTIER_DUPLICATES_NEAR_PAGES", 65_536, least=1, most=10**9)
