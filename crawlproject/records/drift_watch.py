"""Drift in a crawl: counts pages, logs fields that are no longer found, keeps the shares between crawls."""

from __future__ import annotations

import json
import logging
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy import signals

from crawlproject.engine import stats_of
from crawlproject.options.records import RecordOptions
from crawlproject.records.drift import Drift
from crawlproject.storage.replacing import replace_file

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from scrapy.crawler import Crawler

    from crawlproject.records.drift import Fall
    from crawlproject.records.rules import RecordRule, SiteRules

logger = logging.getLogger(__name__)

#: Bytes of the file at most: a million fields.
MAX_FILE = 100_000_000

#: Pages between two writings of the file.
SAVE_AFTER = 500


class DriftWatch:
    """One per crawl (``DriftWatch.of``). Stat: ``records/drift``, fields that have fallen.

    At the end of the first crawl of a site, it also logs what its rules have found on no page at all.
    The shares are kept in ``JOBDIR``; without it in the database, by its pipeline; else they last for this crawl.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._stats = stats_of(crawler)
        self._file = RecordOptions.of(crawler).drift_file
        self.drift = Drift()
        self._pages = 0
        self._sites: dict[str, SiteRules] = {}
        if self._file is not None:
            self._load(self._file)
        crawler.signals.connect(self.close, signals.spider_closed)

    @classmethod
    def of(cls, crawler: Crawler) -> DriftWatch:
        """The crawl's, made at the first call."""
        if crawler not in _watches:
            _watches[crawler] = cls(crawler)
        return _watches[crawler]

    @property
    def is_kept_in_file(self) -> bool:
        """Whether a file keeps the shares."""
        return self._file is not None

    def site(self, site: SiteRules) -> None:
        """Know of a site, of which a page was read."""
        self._sites[site.name] = site

    def page(self, site: SiteRules, rule: RecordRule, found: set[str]) -> None:
        """Count a page that may have records of a kind."""
        self._report(self.drift.page(site.name, rule.name, [field.name for field in rule.fields], found))
        self._pages += 1
        if self._pages % SAVE_AFTER == 0:
            self._save()

    def close(self) -> None:
        """Judge the last window, and save."""
        for site in self._sites.values():
            self._log_never_found(site)
        self._sites.clear()
        self._report(self.drift.end())
        self._save()

    def _log_never_found(self, site: SiteRules) -> None:
        for rule in site.records:
            found = self.drift.never_found(site.name, rule.name)
            if found is None:
                continue
            pages, fields = found
            if not pages:
                logger.warning("%s: %s: no page has a URL that its patterns in pages match", site.name, rule.name)
            elif fields:
                names = ", ".join(fields)
                logger.warning("%s: %s: found on none of %d pages: %.500s", site.name, rule.name, pages, names)

    def _report(self, falls: Iterable[Fall]) -> None:
        for fall in falls:
            self._stats.inc_value("records/drift")
            logger.error(
                "%s: %s.%s was found on %.0f%% of the pages, now on %.0f%% of %d: the site or the rule "
                "has changed, or pages of another kind have come",
                fall.site,
                fall.record,
                fall.field,
                100 * fall.before,
                100 * fall.now,
                fall.pages,
            )

    def _load(self, file: Path) -> None:
        try:
            if file.stat().st_size > MAX_FILE:
                raise ValueError("too large")
            self.drift = Drift.from_state(json.loads(file.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return
        except (OSError, ValueError, RecursionError) as error:
            logger.warning("%s cannot be read (%s): shares of fields are counted from the beginning", file, error)

    def _save(self) -> None:
        if self._file is None:
            return
        try:
            replace_file(self._file, json.dumps(self.drift.to_state()))
        except OSError as error:
            logger.error("%s: shares of fields cannot be saved: %s", self._file, error.strerror)


_watches: WeakKeyDictionary[Crawler, DriftWatch] = WeakKeyDictionary()
