"""Files from which the report is made: samples of the figures over time, and a snapshot of servers, stats and settings.

Nothing else is needed, so a report can be made while the crawl runs, and after ``kill -9``.
"""
