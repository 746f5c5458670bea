"""Spiders: ``web`` crawls everything it is led to; one file per domain for anything more special."""
