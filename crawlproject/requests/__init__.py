"""Scrapy requests and frontier entries: one becomes the other, and both become bytes for a store.

No request is chosen, sent or dropped here.
"""
