"""The fast lane: a page's way from the frontier to its links in one coroutine.

Scrapy's engine, downloader and scraper connect components that need not know of each other: by Deferreds, tasks, async
generators and signals, most of which nobody listens to.  The lane calls the same middlewares, in the same order, and
the same callbacks, directly.  It takes a request only if every component that would notice is known not to mind
(``neutral``); otherwise Scrapy's own path is used.  Not here: any rule about requests, responses or links.
"""
