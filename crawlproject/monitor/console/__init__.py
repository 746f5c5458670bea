"""The control room (``FRONTIER_CONSOLE_PORT``): a web page and a JSON API that show the crawl and steer it
(docs/watch.md).

browser, scrapy console --> access --> api --> views (room, server_list, live) --> CrawlFrontier
                                        +----> control --> CrawlFrontier, order_book (file)

All of it runs in the crawl's event loop, in steps of a few ms.  Orders that are kept apply without the page as well.
"""
