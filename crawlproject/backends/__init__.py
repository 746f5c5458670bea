"""Backends keep the frontier: in memory, or in a directory that outlives the process.

The scheduler uses the protocol ``Backend``.  Not here: the formats on disk (``crawlproject.storage``).
"""
