"""Page objects of two servers of ``scripted_site``, and one that raises."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from web_poet import HttpResponse, WebPage, field, handle_urls
from web_poet.pages import Returns


@dataclass
class Book:
    """The item."""

    url: str
    title: str | None


@handle_urls("127.4.0.1/book")
class FirstShop(WebPage, Returns[Book]):
    """By fields."""

    @field
    def url(self) -> str:
        return str(self.response.url)

    @field
    def title(self) -> str | None:
        found: str | None = self.response.css("h1::text").get()
        return found


@handle_urls("127.4.0.1/book/shelf")
class Shelf(WebPage, Returns[Book]):
    """Gives several items where one is expected."""

    async def to_item(self) -> list[Book]:  # type: ignore[override]
        return [Book(str(self.response.url), "one"), Book(str(self.response.url), "two")]


@handle_urls("127.4.0.2")
class SecondShop(WebPage, Returns[Book]):
    """By a method."""

    async def to_item(self) -> Book:
        response: HttpResponse = self.response
        if "cancelled" in str(response.url):
            raise asyncio.CancelledError  # as from awaiting a task that was cancelled
        if "broken" in str(response.url):
            raise LookupError("no book here")
        return Book(str(response.url), response.css("h2::text").get())
