"""Estimates learned from servers and pages, by which policies rank.

Times, the prior for a new server, the gain of links, sitemaps, kinds of files.
Evidence against servers is in ``frontier/guard``.
"""
