"""One crawl by many processes over Redis.

The servers are split into partitions by their registered domain.  A worker (one process) owns some partitions by a
lease, crawls them with the same frontier as a crawl by one process, and keeps in Redis what their next owner needs:
for each partition a journal of changes, a snapshot, and an inbox for the URLs that other workers find.

Here: names of keys in Redis, formats of what is stored under them, who owns which partition and for how long, and the
connection.  Not here: the frontier and its store, which know nothing of other workers, and Scrapy.  Modules that decide
something are pure: times and replies of Redis come in as arguments.
"""
