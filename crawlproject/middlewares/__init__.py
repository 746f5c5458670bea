"""What Scrapy calls for each request, answer and item list: downloader and spider middlewares.

Each module is one middleware or one family. They translate between Scrapy and the rooms below (frontier, discovery,
content, repository); decisions about which URL is next, and what a link is worth, are not made here.
"""
