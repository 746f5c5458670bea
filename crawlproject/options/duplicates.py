"""The settings ``DUPLICATES_*``: read here and nowhere else, checked once, passed on as values (docs/settings.md)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast, get_args

from crawlproject.options.values import SettingValues

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

Follow = Literal["none", "near", "all"]

DEFAULTS: dict[str, Any] = {
    "DUPLICATES_EXACT": True,
    "DUPLICATES_NEAR": True,
    # A near-duplicate may have a link that no other page has.
    "DUPLICATES_FOLLOW": "near",
    # Below it, pages made from one template come in (docs/duplicates.md).
    "DUPLICATES_THRESHOLD": 0.95,
    # 2^16 sketches: 43 MB when full, and as many URLs.
    "DUPLICATES_NEAR_PAGES": 65_536,
    # A mirror's pages are worth a tenth: not nothing, for it may have some of its own.
    "DUPLICATES_MIRROR_FACTOR": 0.1,
}


@dataclass(frozen=True)
class DuplicateOptions:
    """What is looked for, and what follows from it, checked."""

    exact: bool = True
    near: bool = True
    #: Of which copies the links are followed.
    follow: Follow = "near"
    #: Least estimated Jaccard coefficient of near-duplicates.
    threshold: float = 0.95
    #: Pages whose sketches are kept.
    near_pages: int = 65_536
    #: Of a mirror's rank.
    mirror_factor: float = 0.1

    @classmethod
    def from_settings(cls, settings: BaseSettings) -> DuplicateOptions:
        """Read and check; raises ValueError naming setting, value and choices."""
        values = SettingValues(settings, DEFAULTS)
        return cls(
            exact=values.switch("DUPLICATES_EXACT"),
            near=values.switch("DUPLICATES_NEAR"),
            follow=cast("Follow", values.choice("DUPLICATES_FOLLOW", get_args(Follow))),
            threshold=_share(values, "DUPLICATES_THRESHOLD"),
            near_pages=values.count("DUPLICATES_NEAR_PAGES", least=1),
            mirror_factor=_share(values, "DUPLICATES_MIRROR_FACTOR"),
        )


def _share(values: SettingValues, name: str) -> float:
    share = values.number(name)
    if not 0 < share <= 1:
        raise ValueError(f"{name}={values.value(name)!r}: must be above 0 and at most 1")
    return share
