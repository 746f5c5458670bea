"""Converts Scrapy requests to frontier entries and back, and both to bytes for a store.

Not here: choosing, sending or dropping requests.
"""
