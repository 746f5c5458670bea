"""Pages as they came over the network, kept for others to read: WARC files, and an index of them in SQLite.

The WARC files are the truth; the index can be made again from them.  A directory holds::

    PREFIX-TIME-SERIAL-PID.warc.gz         finished files
    PREFIX-TIME-SERIAL-PID.warc.gz.open    the file that a crawl writes to, locked (flock) by its process
    index.sqlite                           a row for each page

``Capture`` is what is known of one answer, ``Repository`` keeps it; ``reading`` brings it back.  Nothing here knows
Scrapy: ``crawlproject.middlewares.repository`` joins it to the crawl.
"""

from crawlproject.repository.capture import Capture, Measured
from crawlproject.repository.compression import COMPRESSIONS, Compression
from crawlproject.repository.index import PageIndex, PageRow, RepositoryError
from crawlproject.repository.repository import Repository, RepositoryOptions, reindex
from crawlproject.repository.warc_file import WarcFiles

__all__ = [
    "COMPRESSIONS",
    "Capture",
    "Compression",
    "Measured",
    "PageIndex",
    "PageRow",
    "Repository",
    "RepositoryError",
    "RepositoryOptions",
    "WarcFiles",
    "reindex",
]
