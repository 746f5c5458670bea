"""Where the frontier lives: in memory, or in a directory that outlives the process.

The scheduler talks to a ``Backend``; what is written, and how, is in ``crawlproject.storage``.
"""
