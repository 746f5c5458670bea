"""Queues of one server's URLs, best first: in memory, or in a store with only the best in memory; and their heaps.

The lines of ready servers are here, too; the queue of all servers is in ``frontier/server_queue.py``.
"""
