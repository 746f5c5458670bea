"""Handling of URLs: pure functions from text to text, with no clock, no network and no Scrapy.

:func:`extract` finds the links of a page as written.  :class:`Canonicalizer` converts each to its canonical form (URL
standard, RFC 3986, no session ids).  :class:`LinkFilter` rejects links that need no request, :func:`server_key` returns
the server whose queue a URL belongs to, :func:`domain_of_server` its domain.  :func:`read_seeds` reads a crawl's seed
list.
"""

from crawlproject.urls.canonical import Canonicalizer, reference_of, resolve, resolve_redirect, why_none
from crawlproject.urls.drop_params import DEFAULT_DROP_PARAMS
from crawlproject.urls.extract import PageLinks, Refresh, extract, first_refresh, read_refresh
from crawlproject.urls.link_filter import NON_TEXT_EXTENSIONS, LinkFilter
from crawlproject.urls.seeds import BadSeed, Seed, read_seeds
from crawlproject.urls.server_key import domain_of_server, host_of, server_key
from crawlproject.urls.wildcards import UrlPatterns

__all__ = [
    "DEFAULT_DROP_PARAMS",
    "NON_TEXT_EXTENSIONS",
    "BadSeed",
    "Canonicalizer",
    "LinkFilter",
    "PageLinks",
    "Refresh",
    "Seed",
    "UrlPatterns",
    "domain_of_server",
    "extract",
    "first_refresh",
    "host_of",
    "read_refresh",
    "read_seeds",
    "reference_of",
    "resolve",
    "resolve_redirect",
    "server_key",
    "why_none",
]
