"""Downloader and spider middlewares, which Scrapy calls for each request, response and callback result.

Each module has one middleware or one family; ``lane`` calls them directly, without Scrapy's engine. They connect Scrapy
to the packages below (frontier, discovery, content, repository). Not here: the choice of the next URL and the quality
of links.
"""
