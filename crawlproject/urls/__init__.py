"""URLs: canonical form, servers, links of a page, rules of following."""

from crawlproject.urls.canonical import Canonicalizer
from crawlproject.urls.extract import PageLinks, extract
from crawlproject.urls.link_filter import LinkFilter
from crawlproject.urls.seeds import BadSeed, Seed, read_seeds
from crawlproject.urls.server_key import RegisteredDomain, host_of, server_key

__all__ = [
    "BadSeed", "Canonicalizer", "LinkFilter", "PageLinks", "RegisteredDomain", "Seed",
    "extract", "host_of", "read_seeds", "server_key",
]
