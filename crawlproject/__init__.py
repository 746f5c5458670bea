"""A Scrapy project that crawls the most valuable part of the web first.

One way for the data::

    seeds -> scheduler -> frontier -> session -> downloader -> measurement -> spider -> links -> canonical -> seen-set
                 ^                                                                                           |
                 +-------------------------------------------------------------------------------------------+

``frontier/``, ``urls/`` and ``seen/`` are the core: pure, without Scrapy, clock or sockets.  ``scheduler.py``,
``dupefilter.py``, ``intake.py``, ``middlewares.py`` and ``download/`` join it to Scrapy, ``addon.py`` switches all on.
``repository/`` keeps what came over the network.
"""

__version__ = "0.1.0"
