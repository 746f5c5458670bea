"""A Scrapy project that crawls the most valuable part of the web first.

One way for the data::

    seeds -> scheduler -> frontier -> session -> downloader -> measurement -> spider -> links -> canonical -> seen-set
                 ^                                                                                           |
                 +-------------------------------------------------------------------------------------------+

The core is pure, without Scrapy, clock or sockets: ``frontier/``, ``urls/``, ``seen/``, ``content/`` and
``simulation/``.  ``scheduler.py``, ``discovery/``, ``requests/``, ``middlewares/`` and ``download/`` join it to Scrapy,
``crawl_frontier.py`` has what they ask the frontier; ``backends/`` and ``storage/`` keep it on disk; ``repository/``
keeps what came over the network; ``options/`` has all settings; ``addon.py`` switches everything on.  Who may import
whom: ``tests/test_layering.py``.
"""

__version__ = "0.1.0"
