"""A pytest plugin for Scrapy's own tests: everything of Scrapy's that this project replaces is replaced.

Loaded with ``-p replacements`` where Scrapy's tests lie: what they import by name, the middlewares, are this project's.
(Crawlers have the add-on by ``sitecustomize``.)
"""

from __future__ import annotations

import sys

from crawlproject.addon import REPLACED

for stock, ours in REPLACED.items():
    setattr(sys.modules[stock.__module__], stock.__name__, ours)
