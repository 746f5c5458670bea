"""Defaults of the settings ``LINKS_*`` and ``URL_DROP_PARAMETERS``, and of what has no table of its own.

They are read where links are taken in: ``intake``, ``dupefilter``, ``link_record``, ``page_types``, ``sitemap_intake``.
"""

from __future__ import annotations

from typing import Any

DEFAULTS: dict[str, Any] = {
    # The record takes as much space as the pages' links.
    "LINKS_FILE": None,
    # One file may list 50,000 pages of a server of which nothing else is known.
    "LINKS_SITEMAPS": False,
    # The lists stand beside the code that goes by them.
    "LINKS_TYPES": None,
    # An answer may be an error page; three of a kind are no accident.
    "LINKS_SKIP_AFTER": 3,
    "LINKS_SKIP_EXTENSIONS": None,
    "URL_DROP_PARAMETERS": None,
    "SERVER_TIMING_ENABLED": True,
}
