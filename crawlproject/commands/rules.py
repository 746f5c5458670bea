"""``scrapy rules check``: checks a rule file, shows what it extracts from a page."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider
from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError
from scrapy.settings import SETTINGS_PRIORITIES

from crawlproject.commands.described import Described

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import AsyncIterator, Iterable, Iterator

    from scrapy.http import Response
    from twisted.python.failure import Failure

    from crawlproject.records.rules import FieldRule, Reading, RuleSet, SiteRules

#: Characters of a value that are shown.
SHOWN = 70

#: To fetch one page: a person waits for it, and it must not touch the project's crawls and output.
SETTINGS = {
    "FRONTIER_MAX_FAILURES": 1,
    "FRONTIER_ROBOTS_MAX_FAILURES": 1,
    "RETRY_TIMES": 0,
    "FRONTIER_BACKEND": "memory",
    "FRONTIER_DIR": None,
    "JOBDIR": None,
    "FRONTIER_REPOSITORY_DIR": None,
    "FRONTIER_RECORDS_DB": None,
    "FEEDS": {},
}


class OnePage(Spider):
    """Fetches one page, with the project's settings, and keeps the response, or why there is none."""

    name = "rules"

    def __init__(self, url: str, kept: list[Response | str], render: Any = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._url, self._kept = url, kept
        self._meta = {"render": render} if render else None

    async def start(self) -> AsyncIterator[Request]:
        yield Request(self._url, meta=self._meta, dont_filter=True, errback=self.failed)

    def parse(self, response: Response, **kwargs: Any) -> None:
        self._kept.append(response)

    def failed(self, failure: Failure) -> None:
        from scrapy.spidermiddlewares.httperror import HttpError

        from crawlproject.crawl_frontier import frontier_of
        from crawlproject.requests.failures import in_words

        error = failure.value
        assert error is not None
        crawl = frontier_of(self.crawler)
        failures = [server.last_error for server in crawl.frontier.servers] if crawl is not None else []
        if isinstance(error, HttpError):
            self._kept.append(f"status {error.response.status}")
        else:  # if the server was given up, its failure says more than that
            self._kept.append(next(filter(None, failures), None) or in_words(error))


class Command(Described, ScrapyCommand):
    """Writes to standard output only; its log has only warnings, unless a level is given."""

    usage = "[options] check FILE|FOLDER [URL|PAGE.html]"
    summary = "Check the rules of `scrapy crawl site` on a page"
    explanation = (
        "Read a rule file; with a page, show what each field gives and what matched nothing; exit code 1 if"
        " the file is wrong or the page has no record."
    )

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        parser.add_argument("--url", help="the URL of PAGE.html, which decides the rules that apply")

    def process_options(self, args: list[str], opts: Namespace) -> None:
        super().process_options(args, opts)
        assert self.settings is not None
        if (self.settings.getpriority("LOG_LEVEL") or 0) < SETTINGS_PRIORITIES["cmdline"]:
            self.settings.set("LOG_LEVEL", "WARNING", priority="cmdline")

    def run(self, args: list[str], opts: Namespace) -> None:
        from crawlproject.storage.errors import plain_message

        action, *rest = args or [""]
        if action != "check" or not 1 <= len(rest) <= 2:
            raise UsageError("expected check FILE [URL|PAGE.html]", print_help=False)
        try:
            self._check(rest[0], rest[1] if len(rest) > 1 else None, opts)
        except (ValueError, OSError) as error:  # a missing extra is a ValueError
            self.fail(plain_message(error))

    def _check(self, path: str, page: str | None, opts: Namespace) -> None:
        from crawlproject.records.reading import Source, read_page
        from crawlproject.records.rule_file import read_rules

        rules = read_rules(path)
        if page is None:
            sys.stdout.writelines(_summary(rules.sites))
            return
        owner = rules.of(page)
        text, url, kind = self._page(page, opts.url or rules.sites[0].seeds[0], owner.render if owner else None)
        site = rules.of(url)
        if site is None:
            raise ValueError(f"{url}: no rules for its domain; domains: {', '.join(_domains(rules))}")
        source = Source(text, url, kind=kind)
        applied = site.records_on(url)
        if page != url and not opts.url:  # a file, whose URL is not known
            applied = list(site.records)
        readings = read_page(source, applied)
        sys.stdout.writelines(_summary([site]))
        sys.stdout.writelines(_shown(site, url, readings))
        if not any(reading.rows for reading in readings):
            self.exitcode = 1

    def _page(self, page: str, url: str, render: Any = None) -> tuple[str, str, str]:
        """Text, URL and kind of a page: fetched, and rendered as ``render`` says, or a file. Raises ValueError.

        A file has the given ``url``.
        """
        from crawlproject.discovery.page_reading import saved_text

        if not page.startswith(("http://", "https://")):
            try:
                text = saved_text(Path(page).read_bytes())
            except OSError as error:
                hint = "; a URL begins with http:// or https://" if isinstance(error, FileNotFoundError) else ""
                raise ValueError(f"{page}: {error.strerror}{hint}") from error
            kind = {".json": "json", ".xml": "xml"}.get(Path(page).suffix.lower(), "html")
            return text, url, kind
        from scrapy.http import TextResponse

        from crawlproject.discovery.page_reading import markup, parser_of

        kept: list[Response | str] = []
        assert self.crawler_process is not None
        self.crawler_process.settings.setdict(SETTINGS, priority="cmdline")
        self.crawler_process.crawl(OnePage, url=page, kept=kept, render=render)
        self.crawler_process.start()
        response = kept[0] if kept else "the crawl did not start"
        if isinstance(response, str):
            raise ValueError(f"{page}: not fetched: {response}")
        if not isinstance(response, TextResponse):
            raise ValueError(f"{page}: no text")
        kind = parser_of(response)
        return markup(response), response.url, kind if kind in ("json", "xml") else "html"


def _domains(rules: RuleSet) -> list[str]:
    return [domain for site in rules.sites for domain in site.domains]


def _summary(sites: Iterable[SiteRules]) -> Iterator[str]:
    for site in sites:
        kinds = ", ".join(f"{rule.name} ({len(rule.fields)} fields)" for rule in site.records)
        yield f"{site.name}: {', '.join(site.domains)}: {kinds}\n"


def _shown(site: SiteRules, url: str, readings: list[Reading]) -> Iterator[str]:
    yield f"\n{url} by the rules of {site.name}\n"
    if not readings:
        yield f"  no records by its URL; patterns are in pages of {', '.join(rule.name for rule in site.records)}\n"
    for reading in readings:
        rows, rule = reading.rows, reading.rule
        left_out = f", {reading.incomplete} left out because a required field is missing" if reading.incomplete else ""
        yield f"\n{rule.name}: {len(rows)} record{'s' * (len(rows) != 1)}{left_out}\n"
        width = max(len(field.name) for field in rule.fields)
        for field in rule.fields:
            yield f"  {field.name:{width}}  {_field(field, reading)}\n"
            yield from _within(field, rows, "    ")
        for problem in reading.problems[:20]:
            if problem.kind != "required":
                yield f"  ! {problem.name}: {problem.reason}\n"


def _field(field: FieldRule, reading: Reading) -> str:
    values = [row[field.name] for row in reading.rows if row[field.name] is not None and row[field.name] != []]
    written = field.selector.text if field.selector is not None else "the row"
    if field.name not in reading.found:
        default = f"; default {field.default!r}" if field.default is not None else ""
        return f"- nothing matched: {written}{default}"
    if not values:
        return "found, but no record is complete"
    return _first_of(values, len(reading.rows))


def _within(field: FieldRule, records: list[dict[str, Any]], indent: str) -> Iterator[str]:
    """A line for each field within a field."""
    found = [value for record in records if (value := record[field.name]) is not None]
    parts = [part for value in found for part in (value if isinstance(value, list) else [value])]
    if not parts:
        return
    width = max((len(inner.name) for inner in field.fields), default=0)
    for inner in field.fields:
        values = [part[inner.name] for part in parts if part[inner.name] not in (None, [])]
        written = inner.selector.text if inner.selector is not None else "the match"
        shown = _first_of(values, len(parts)) if values else f"- nothing matched: {written}"
        yield f"{indent}{inner.name:{width}}  {shown}\n"
        yield from _within(inner, parts, f"{indent}  ")


def _first_of(values: list[Any], records: int) -> str:
    shown = repr(values[0])
    shown = shown if len(shown) <= SHOWN else f"{shown[: SHOWN - 3]}..."
    count = f" ({len(values[0])} values)" if isinstance(values[0], list) else ""
    return shown + count + (f"; in {len(values)} of {records}" if records > 1 else "")
