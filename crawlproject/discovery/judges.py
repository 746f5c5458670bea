"""Protocols of the components that accept or refuse links: trap guard and page limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from scrapy import Request
    from scrapy.http import Response

    from crawlproject.frontier.entry import Entry
    from crawlproject.frontier.guard.judge import GuardedPage


class LinkGuard(Protocol):
    """Judges links by the page that contains them."""

    def page(
        self, url: str, response: Response, links: list[str | None]
    ) -> tuple[GuardedPage | None, list[str | None]]:
        """An object to judge the links of the page at ``url`` (None: follow all), and its canonical ``links``."""

    def judge(self, page: GuardedPage, entries: list[Entry]) -> list[Entry]:
        """The entries to queue among ``entries``, the page's new links."""

    def load(self, keys: Sequence[str]) -> None:
        """Continue with what was learned of the stored servers ``keys``."""

    def work(self) -> Iterator[None]:
        """Do pending work in steps of 0.1 s."""

    def received(self, entries: list[Entry]) -> list[Entry]:
        """The entries to queue among ``entries``, new links found on pages of other workers' servers."""

    def without_visit_id(self, url: str) -> str:
        """The canonical ``url`` without visit ids."""

    def led_back(self, request: Request) -> None:
        """Learn from ``request``, a redirect to a known page."""

    def learn_content(self, key: str, url: str | None, *, copy: bool) -> None:
        """Learn from a page of the server ``key``, after the frontier did."""

    def release(self, name: str) -> Iterator[None]:
        """Stop judging the servers that ``name`` covers, in steps of a few ms."""


class ServerLimits(Protocol):
    """Knows which servers have reached their page limit."""

    def __bool__(self) -> bool:
        """Whether any limit is set."""

    def refuses(self, url: str) -> bool:
        """Whether the canonical ``url`` belongs to a full server or domain."""


class FileJudge(Protocol):
    """Judges links with a file extension."""

    def is_skipped(self, url: str) -> bool:
        """Whether the link to the canonical ``url`` is not followed."""

    def factor(self, url: str) -> float:
        """Factor on the quality of a link that is followed."""
