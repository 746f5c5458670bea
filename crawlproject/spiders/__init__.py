"""Spiders: ``web`` crawls everything reachable from its seeds; the others are special crawls, one module each."""
