"""URLs as a crawl sees them: pure functions from text to text, with no clock, no network and no Scrapy.

A page's body goes through :func:`extract`, which finds its links as they are written.  :class:`Canonicalizer` gives
each the one spelling by which the crawl knows it (URL standard, RFC 3986, no session ids).  :class:`LinkFilter` says
which are not worth a request, :func:`server_key` whose queue a URL belongs in, and :class:`RegisteredDomain` which
servers belong together.  :func:`read_seeds` reads the list that a crawl starts from.
"""

from crawlproject.urls.canonical import Canonicalizer, resolve, why_none
from crawlproject.urls.drop_params import DEFAULT_DROP_PARAMS
from crawlproject.urls.extract import MAX_LINKS, PageLinks, extract
from crawlproject.urls.link_filter import NON_TEXT_EXTENSIONS, LinkFilter
from crawlproject.urls.seeds import BadSeed, Seed, read_seeds
from crawlproject.urls.server_key import RegisteredDomain, domain_of_server, host_of, server_key
from crawlproject.urls.wildcards import UrlPatterns

__all__ = [
    "DEFAULT_DROP_PARAMS",
    "MAX_LINKS",
    "NON_TEXT_EXTENSIONS",
    "BadSeed",
    "Canonicalizer",
    "LinkFilter",
    "PageLinks",
    "RegisteredDomain",
    "Seed",
    "UrlPatterns",
    "domain_of_server",
    "extract",
    "host_of",
    "read_seeds",
    "resolve",
    "server_key",
    "why_none",
]
