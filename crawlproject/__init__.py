"""A Scrapy project that crawls the most valuable part of the web first.

Data flow and packages: ``docs/architecture.md``.  Allowed imports: ``tests/test_layering.py``.

The core uses neither Scrapy nor clock nor sockets: ``frontier/``, ``urls/``, ``seen/``, ``content/`` and
``simulation/``.  ``scheduler.py``, ``discovery/``, ``requests/``, ``middlewares/`` and ``download/`` connect it to
Scrapy, through ``crawl_frontier.py``.  ``backends/`` and ``storage/`` keep the frontier on disk, ``repository/`` stores
the responses as received, ``records/`` extracts records and keeps them, ``workers/`` shares a crawl among processes,
``monitor/`` shows and steers it, ``options/`` declares all settings, and ``addon.py`` enables everything.
"""

__version__ = "1.0.0"
