"""Queues of one server's URLs, best first: in memory, or in a store with only the best in memory; and their heaps.

The queue of servers is in ``frontier/server_table.py``.
"""
