"""Evidence of traps: URL patterns whose pages show nothing new, parts of addresses that change on each visit.

The guard judges by what pages showed. Rules that look at a URL alone are in ``crawlproject.urls.traps``.
"""
