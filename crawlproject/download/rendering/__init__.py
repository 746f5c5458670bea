"""Pages that scripts build: loads them in Chromium and returns the DOM (docs/rendering.md).

``Renderer`` is the door.  The page itself was fetched as ever; the browser gets it from ``proxy``, its only road out,
and everything else that it asks for there is fetched as a request of the crawl (``resources``): the same guard,
resolver, connections, politeness and limits.  ``browser`` drives Chromium by scrapy-playwright.

Whether a page needs this is decided from its HTML in ``need``.
"""
