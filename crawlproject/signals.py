"""Signals of this project, sent through ``crawler.signals``."""

#: A session, open or parked, has ended: close its connection. Argument ``server_key``.
session_closed = object()

#: The server closed the connection of an open or parked session. Argument ``server_key``.
connection_lost = object()

#: Requests the current load. Receivers return a dict: name of a stat below ``monitor/`` -> number; these are added.
load_asked = object()
