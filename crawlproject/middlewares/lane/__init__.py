"""The fast lane: a page's way from the frontier to its links in one coroutine.

Scrapy's engine, downloader and scraper connect independent components by Deferreds, tasks, async generators and
signals, most of which have no receiver.  The lane calls the same middlewares, in the same order, and the same
callbacks, directly.  It takes a request only if no component can tell the difference (``neutral``); otherwise the
request takes Scrapy's own path.  Not here: any rule about requests, responses or links.
"""
