"""What is kept of a crawl over time: samples of its figures, and a snapshot of its servers, stats and settings.

The report is made of these two files alone, so it can be made of a running crawl, and after ``kill -9``.
"""
