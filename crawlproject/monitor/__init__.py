"""How the crawl is doing: what is open, queued and late, and fewer sessions where the process cannot keep up.

LoopLag, stats, signals.load_asked --> LoadMonitor --> stats monitor/*, log --> MetricsServer
                                           |
                                       Throttle --> Dispatcher.max_sessions
"""
