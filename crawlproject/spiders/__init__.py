"""Spiders: ``web`` crawls everything reachable from its seeds; more special spiders go into one file per domain."""
