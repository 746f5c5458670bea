"""The records of sites, by rules in TOML files (docs/spiders.md)."""

from __future__ import annotations

from typing import Any

from crawlproject.spiders.web import WebSpider


class SiteSpider(WebSpider):
    """``web`` with ``-a rules=FILE|FOLDER`` that stays within the domains of the rules.

    ``-a seeds=...`` replaces the seeds of the rules; ``-a allowed=...`` their domains.
    """

    name = "site"
    known_arguments = WebSpider.known_arguments

    def __init__(self, rules: str = "", allowed: str = "", **kwargs: Any) -> None:
        if not rules:
            self._check_arguments(kwargs)
            raise ValueError("rules='': must be a TOML file, or a folder of such files (docs/spiders.md)")
        super().__init__(rules=rules, allowed=allowed, **kwargs)
        assert self.rules is not None
        if not allowed:
            self.allow(self.rules.domains)
        if self.seeds:
            self.rules.seeds = []
