"""A crawl by many workers as a deterministic simulation: real workers, virtual time, a model of Redis and of the web."""
