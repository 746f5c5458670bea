"""Detects duplicate content: exact and near-duplicates. Pure: no files, no clock, no Scrapy.

An exact duplicate is found by a hash of its bytes (``ContentTable``), a near-duplicate by a sketch of the 4-word
shingles of its visible text (``PageSketch``, ``NearDuplicates``).
"""

from crawlproject.content.exact import ContentTable
from crawlproject.content.near import NearDuplicates
from crawlproject.content.sketch import IS_FAST, PageSketch, similarity

__all__ = [
    "IS_FAST",
    "ContentTable",
    "NearDuplicates",
    "PageSketch",
    "similarity",
]
