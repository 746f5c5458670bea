"""Removes URL parameters that identify a visit and not a page: session ids, advertising and mailing tags.

A crawler that keeps them fetches the same page once per visit, without end.  A list of entries selects them:

- ``gclid``: the query parameter of this name, with any value;
- ``x_*``: every query parameter whose name starts with ``x_``;
- ``;jsessionid``: the path parameter of this name (``/a;jsessionid=1F``), even if a server put it into the query.

Names are case-insensitive.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

# PHP, ASP, Java servlets, BroadVision, osCommerce and its forks: names with no other meaning.  Names that are also used
# for content ("s", "sid", "session", "cfid") are dropped if a server's own links show that their value is new on each
# visit (``frontier.guard.idle_parts``).
_SESSION_ENTRIES = (
    *("phpsessid", "aspsessionid*", "jsessionid", "bv_sessionid", "oscsid", "xtcsid", "zenid"),
    *(";jsessionid", ";phpsessid"),
)
# Exact names, because "utm_zone", "utm_easting" (coordinates), "pk_id" and "pk_customer" (primary keys) select pages.
_UTM = (  # Google's help on campaign parameters; then those that Google Reader, Feedburner, Yandex and others add
    *("source", "medium", "campaign", "term", "content", "id", "source_platform", "creative_format"),
    *("marketing_tactic", "nooverride", "campaign_id", "referrer", "name", "reader", "pubreferrer", "viz_id", "swu"),
    *("cid", "social", "social-type", "brand", "placement"),
)
_MATOMO = ("campaign", "cpn", "keyword", "kwd", "source", "medium", "content", "cid", "group", "placement")
_TRACKING_ENTRIES = (
    *(f"utm_{name}" for name in _UTM),
    *(f"{start}_{name}" for start in ("mtm", "matomo", "pk", "piwik") for name in _MATOMO),  # Matomo, formerly Piwik
    *("gclid", "gclsrc", "dclid", "gbraid", "wbraid", "_ga", "_gl", "srsltid"),  # Google
    *("fbclid", "igshid", "igsh", "msclkid", "twclid", "ttclid", "li_fat_id", "epik"),  # Meta, Microsoft, X, ...
    *("yclid", "ymclid", "_openstat"),  # Yandex
    *("mc_cid", "mc_eid", "mkt_tok", "vero_id", "vero_conv", "_hsenc", "_hsmi", "__hssc", "__hstc", "__hsfp"),
    *("oly_anon_id", "oly_enc_id", "wickedid", "s_kwcid", "ef_id"),  # mailings and mailing tools
)
DEFAULT_DROP_PARAMS: tuple[str, ...] = _SESSION_ENTRIES + _TRACKING_ENTRIES

_ENTRY = re.compile(r"(;?)([A-Za-z0-9_.~-]+)(\*)?")
_NEVER = re.compile(r"(?!)")


@dataclass(frozen=True, slots=True)
class DropRules:
    """The compiled list.  Build it with :meth:`compile`."""

    names: frozenset[str]
    prefixes: tuple[str, ...]
    path_params: re.Pattern[str]
    hint: re.Pattern[str]  # matches in the lower-cased path and query of every URL that may lose a parameter

    @classmethod
    def compile(cls, entries: Iterable[str]) -> DropRules:
        """Rules from *entries* (syntax: see the module).  Raises ValueError naming an invalid entry."""
        names: set[str] = set()
        prefixes: set[str] = set()
        path_patterns: list[str] = []
        starts: set[str] = set()
        for entry in entries:
            match = _ENTRY.fullmatch(entry)
            if match is None:
                raise ValueError(f"{entry!r}: must be name, prefix* or ;name")
            mark, name, star = match[1], match[2].lower(), match[3]
            starts.add(name)
            if mark:
                more_name = "[^=;/?&]*" if star else ""
                path_patterns.append(rf";{re.escape(name)}{more_name}(?:=[^;/?&]*|(?=[;/?&]|\Z))")
            else:
                (prefixes if star else names).add(name)
        return cls(
            names=frozenset(names),
            prefixes=tuple(sorted(prefixes)),
            path_params=re.compile("|".join(path_patterns), re.IGNORECASE) if path_patterns else _NEVER,
            hint=_hint(starts),
        )

    def may_strip(self, rest: str) -> bool:
        """Whether :meth:`strip` could change *rest*: a quick test (0.3 us) with false positives.  O(length)."""
        return self.hint.search(rest.lower()) is not None

    def strip(self, rest: str) -> str:
        """The path and query *rest* without the listed parameters; keeps the order of the others.  O(length)."""
        if not self.may_strip(rest):
            return rest
        path, mark, query = rest.partition("?")
        path = self.path_params.sub("", path)
        if not mark:
            return path
        query = self.path_params.sub("", query)
        names = [(param.partition("=")[0].lower(), param) for param in query.split("&")]
        kept = "&".join([param for name, param in names if not (name in self.names or name.startswith(self.prefixes))])
        return f"{path}?{kept}" if kept else path


def _hint(starts: Iterable[str]) -> re.Pattern[str]:
    """A pattern for a delimiter followed by one of *starts*; grouping by first letter halves the time of a miss."""
    groups = [
        re.escape(letter) + "(?:" + "|".join(re.escape(start[1:]) for start in group) + ")"
        for letter, group in groupby(sorted(starts), key=itemgetter(0))
    ]
    return re.compile(f"[?&;](?:{'|'.join(groups)})") if groups else _NEVER
