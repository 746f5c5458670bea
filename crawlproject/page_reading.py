"""Pages as HTML, read once: whoever looks at a page's markup first pays for parsing it."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

from scrapy.http import TextResponse

from crawlproject.urls import PageLinks, extract

if TYPE_CHECKING:
    from scrapy.http import Response

#: Media types that are read.
HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})

_read: WeakKeyDictionary[Response, PageLinks] = WeakKeyDictionary()


def media_type(response: Response) -> str:
    """The type in the ``Content-Type`` header, lower case, without parameters; "" where there is none."""
    content_type = (response.headers.get(b"Content-Type") or b"").decode("latin-1")
    return content_type.partition(";")[0].strip().lower()


def is_html(response: Response) -> bool:
    """Whether it is text and says nothing else than that it is HTML."""
    return isinstance(response, TextResponse) and media_type(response) in HTML_TYPES | {""}


def read_page(response: TextResponse, *, with_text: bool = False) -> PageLinks:
    """What ``extract`` finds in a page. Parsed once, but for a text that was not asked for the first time."""
    page = _read.get(response)
    if page is None or (with_text and page.text is None):
        page = _read[response] = extract(response.text, response.url, with_text=with_text)
    return page
