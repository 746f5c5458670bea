"""A Scrapy project that crawls the most valuable part of the web first.

One way for the data::

    seeds -> scheduler -> frontier -> session -> downloader -> measurement -> spider -> links -> canonical -> seen-set
                 ^                                                                                           |
                 +-------------------------------------------------------------------------------------------+

The core is pure, without Scrapy, clock or sockets: ``frontier/``, ``urls/``, ``seen/``, ``content/`` and
``simulation/``.  ``discovery/``, ``requests/``, ``middlewares/``, ``download/`` and ``scheduler.py`` join it to Scrapy;
``backends/`` and ``storage/`` keep it on disk; ``repository/`` keeps what came over the network; ``options/`` has all
settings; ``addon.py`` switches everything on.
"""

__version__ = "0.1.0"
