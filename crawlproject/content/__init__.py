"""Whether a page's content was met before: byte for byte, or nearly. Pure: no files, no clock, no Scrapy.

An exact duplicate is known by a hash of its bytes (``ContentTable``), a near-duplicate by a sketch of the 4-word
shingles of its visible text (``PageSketch``, ``NearDuplicates``); servers with many equal pages are mirrors
(``Mirrors``).
"""

from crawlproject.content.exact import ContentTable
from crawlproject.content.mirrors import Mirrors
from crawlproject.content.near import NearDuplicates
from crawlproject.content.shingles import jaccard, shingle_hashes, word_hashes
from crawlproject.content.sketch import PageSketch, bins_of, similarity

__all__ = [
    "ContentTable",
    "Mirrors",
    "NearDuplicates",
    "PageSketch",
    "bins_of",
    "jaccard",
    "shingle_hashes",
    "similarity",
    "word_hashes",
]
