"""Targets and tools of tests, demonstration and benchmarks: emulated and real webs on loopback, DNS, crawl runs.

``web`` is an emulated web with a log of every request; ``real_web`` serves downloaded documentation by nginx;
``data_sites`` are generated sites of data, and traps beside real pages; ``dns`` is a name server; ``crawl`` runs a
crawl as a process and measures it, ``twin`` simulates the same crawl; ``bench`` is shared by the benchmarks.
``workers`` starts the processes of one crawl, ``redis_server`` their Redis server, and ``cut_off`` is a proxy that
breaks the connection to it.  Not part of the installed package.
"""
