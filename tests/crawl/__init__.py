"""Whole crawls over loopback, each in a process of its own."""
