"""Signals of this project, sent through ``crawler.signals``."""

#: A session has ended, parked or not, and its connection must be closed; argument ``server_key``.
session_closed = object()

#: A server has closed the connection of an open or parked session; argument ``server_key``.
connection_lost = object()

#: What is the load? Receivers return a dict: name of a stat below ``monitor/`` -> number. Numbers are added up.
load_asked = object()
