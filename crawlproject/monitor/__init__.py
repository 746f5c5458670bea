"""Monitoring: load, loop lag, failures and metrics of the crawl; fewer sessions if the process cannot keep up.

LoopLag, stats, signals.load_asked --> LoadMonitor --> stats monitor/*, log --> MetricsServer
                                           |
                                       Throttle --> Dispatcher.max_sessions

frontier, dispatcher, stats --> figures --> progress/ (terminal), series/ (files) --> report/ (HTML), console/
"""
