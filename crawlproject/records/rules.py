"""Rules of sites: which pages hold records, and where their fields are. Read from files by ``rule_file``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from crawlproject.urls import UrlPatterns, server_key
from crawlproject.urls.server_key import DomainTable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from crawlproject.records.selectors import Selector

NO_PATTERNS = UrlPatterns(())


@dataclass(frozen=True, slots=True)
class FieldRule:
    name: str
    #: None: the whole row.
    selector: Selector | None
    #: Text or JSON value -> value; raises ValueError. None for a field with fields of its own.
    convert: Callable[[Any, str], Any] | None
    #: A list of all values instead of the first one.
    is_list: bool = False
    is_required: bool = False
    default: Any = None
    #: Fields within each match of the selector.
    fields: tuple[FieldRule, ...] = ()


@dataclass(frozen=True, slots=True)
class RecordRule:
    """A kind of record: its pages and its fields."""

    name: str
    fields: tuple[FieldRule, ...]
    #: Names of the fields that identify a record; empty: its page does.
    key: tuple[str, ...] = ()
    #: One record for each match; None: one for the page.
    rows: Selector | None = None
    pages: UrlPatterns = NO_PATTERNS


@dataclass(frozen=True, slots=True)
class SiteRules:
    """The rules of one site, from one file."""

    #: The file's, without its suffix.
    name: str
    seeds: tuple[str, ...]
    #: Canonical names of hosts, each with its subdomains; optionally with a port.
    domains: tuple[str, ...]
    records: tuple[RecordRule, ...]
    allow: UrlPatterns = NO_PATTERNS
    deny: UrlPatterns = NO_PATTERNS
    #: Links to further pages of a list, followed whatever ``allow`` says.
    next_pages: Selector | None = None
    #: The table ``render`` as it was written; for ``Request.meta["render"]``.
    render: Any = None
    #: Where they are from, and the hash of its text.
    file: Path | None = None
    version: int = 0

    def records_on(self, url: str) -> list[RecordRule]:
        """The kinds of records that the page with this canonical URL may have."""
        return [record for record in self.records if not record.pages or record.pages.match(url)]

    def follows(self, url: str) -> bool:
        """Whether a link to the canonical ``url`` is followed: allowed, or a page of records, and not denied."""
        if self.deny.match(url):
            return False
        return not self.allow or self.allow.match(url) or any(rule.pages.match(url) for rule in self.records)


class RuleSet:
    """The rules of all sites, by domain. Raises ValueError if two of them have one domain."""

    def __init__(self, sites: Iterable[SiteRules]) -> None:
        self.sites = tuple(sites)
        owners: dict[str, SiteRules] = {}
        for site in self.sites:
            for domain in site.domains:
                if (other := owners.setdefault(domain, site)) is not site:
                    raise ValueError(f"{site.file}: domains: {domain} is in {other.file}, too")
        self._table = DomainTable(owners)

    def of(self, url: str) -> SiteRules | None:
        """The rules of the nearest domain above the host of ``url``. O(labels)."""
        return self._table.of(url)

    def follows(self, url: str) -> bool:
        """Whether the rules of its domain, if it has any, follow a link to the canonical ``url``."""
        site = self.of(url)
        return site is None or site.follows(url)


def domain_of(url: str) -> str:
    """The domain that a seed stands for: its host, with the port if it is not the scheme's. Raises ValueError."""
    return server_key(url).partition("://")[2]


class Problem(NamedTuple):
    """An error in a field of a page."""

    #: Dotted name: record, field and nested fields.
    name: str
    #: ``selector`` (it raised), ``value`` (not of its type), ``required`` (missing).
    kind: str
    reason: str


@dataclass(slots=True)
class Reading:
    """The result of applying the rules of one kind of record to a page."""

    rule: RecordRule
    rows: list[dict[str, Any]] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    #: Names of the fields that were found at least once.
    found: set[str] = field(default_factory=set)
    #: Rows without a required field.
    incomplete: int = 0
    #: The limit of time or of rows ended it early.
    is_cut: bool = False
