"""Evidence of traps: URL patterns whose pages show nothing new, parameters that change on each visit, circles, mirrors.

The guard judges by what pages showed. Rules that look at a URL alone are in ``crawlproject.urls.traps``.
"""
