"""Renders pages that need JavaScript: loads them in Chromium and returns the DOM (docs/rendering.md).

``Renderer`` is the entry point.  The page itself was fetched as any other; the browser gets it from ``proxy``, its only
way to the network.  Everything else that the browser requests there is fetched as a request of the crawl
(``resources``): with the same guard, resolver, connections, politeness and limits.  ``browser`` drives Chromium by
scrapy-playwright.

``need`` decides from the HTML whether a page is rendered.
"""
