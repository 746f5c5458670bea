"""The fast lane: a page's way from the frontier to its items and links in one coroutine.

Scrapy's engine, downloader and scraper connect independent components by Deferreds, a hundred tasks a page, async
generators and signals, most of which have no receiver.  The lane calls the same middlewares, callbacks, pipelines and
receivers directly, in the same order, and awaits what has to be awaited.  Not here: any rule about requests, responses
or links.
"""
