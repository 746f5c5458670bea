"""Signals of this project, sent through ``crawler.signals``."""

#: A session has ended: close its connection. Argument ``server_key``.
session_closed = object()

#: A session was abandoned (``Dispatcher.abandon``): close its connection now. A request in flight fails with
#: ``download.pool.SessionAbandoned``; ``session_closed`` would let it end first. Argument ``server_key``.
session_abandoned = object()

#: The server closed the connection of an open session. Argument ``server_key``.
connection_lost = object()

#: Requests the current load. Receivers return a dict: name of a stat below ``monitor/`` -> number; these are added.
load_asked = object()

#: Asks for the robots.txt of a server. Argument ``server_key``. The receiver returns its text, or None if it has none.
robots_asked = object()

#: A page was rendered. Arguments ``request``, ``response`` (as fetched), ``html`` (the DOM, bytes in UTF-8).
page_rendered = object()

#: The frontier could not be stored: the crawl ends, or has ended. No arguments.
commit_failed = object()

#: The operator has changed the limit on open sessions. Argument ``limit``.
sessions_limited = object()

#: The last request has ended, and the frontier is about to be closed: what it holds now is what the run leaves.
frontier_closing = object()
