"""What the crawl has learned of servers and pages, as estimates that policies rank by.

Times, sizes, the prior for a new server, the gain of links, the time to drain the queue, sitemaps, kinds of files.
What servers do wrong is in ``frontier/guard``.
"""
