"""Records: what a crawl extracts from pages, by rules or by page objects, and where it is kept.

Rules are read from TOML files (``rule_file``) into the dataclasses of ``rules``; ``reading`` applies them to a page;
``page_objects`` applies page objects by domain.  ``database`` keeps records in SQL tables, ``pipeline`` feeds it from a
journal off the event loop.

Only ``intake``, ``pipeline``, ``page_objects`` and ``feeds`` know Scrapy.  Libraries of the extra
``records`` are imported where they are used.  Not here: the spider ``site`` (``spiders/``) and ``scrapy rules``
(``commands/``).
"""
