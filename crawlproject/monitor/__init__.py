"""How the crawl is doing: what is open, queued and late, and fewer sessions where the process cannot keep up.

LoopLag, stats, signals.load_asked --> LoadMonitor --> stats monitor/*, log --> MetricsServer
                                           |
                                       Throttle --> FrontierScheduler.limit_sessions
"""

from crawlproject.monitor.load import LoadMonitor
from crawlproject.monitor.throttle import Throttle

__all__ = ["LoadMonitor", "Throttle"]
