"""Detects near-duplicates, by a sketch of the 4-word shingles of a page's visible text. Pure: no files, no Scrapy.

Exact duplicates are found by a hash of their bytes (``storage/content_file.py``).
"""
