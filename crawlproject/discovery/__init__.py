"""Feeds links from pages, sitemaps and robots.txt into the frontier.

Here: parsing pages, making links canonical, checking them against the guard and the seen-set, page limits per server.
Not here: ranking (the frontier), fetching (scheduler and downloader).
"""
