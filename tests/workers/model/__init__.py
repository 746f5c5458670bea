"""A crawl by many workers as a deterministic simulation: real workers, virtual time, models of Redis and the web."""
