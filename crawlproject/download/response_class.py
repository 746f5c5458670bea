"""Finds the class of a response by its media type."""

from __future__ import annotations

from functools import lru_cache

from scrapy.http import Response
from scrapy.responsetypes import responsetypes


@lru_cache(maxsize=256)
def class_of(content_type: bytes) -> type[Response] | None:
    """The class of responses of this type; None if Scrapy would look at more than the type."""
    kind = responsetypes.from_content_type(content_type)
    return None if kind is Response else kind
