"""The network: DNS, addresses, connections, HTTP responses, and the memory used by bodies.

The scheduler decides what is requested and when; the middlewares decide what a response means.
"""
