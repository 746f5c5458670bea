"""Stores pages as received, for other programs: WARC files with an index in SQLite.

The WARC files are authoritative; the index can be rebuilt from them.  A directory holds::

    PREFIX-TIME-SERIAL-PID.warc.gz         finished files
    PREFIX-TIME-SERIAL-PID.warc.gz.open    the file a crawl is writing to, locked (flock) by its process
    index.sqlite                           a row for each page

``Capture`` is one measured response, ``Repository`` stores it, ``reading`` reads it back.  Nothing here depends on
Scrapy: ``crawlproject.middlewares.repository`` connects it to the crawl.
"""

from crawlproject.repository.index import PageIndex, PageRow, RepositoryError
from crawlproject.repository.records import Capture
from crawlproject.repository.warc_file import WarcFiles
from crawlproject.repository.writing import Repository, RepositoryOptions, reindex

__all__ = [
    "Capture",
    "PageIndex",
    "PageRow",
    "Repository",
    "RepositoryError",
    "RepositoryOptions",
    "WarcFiles",
    "reindex",
]
