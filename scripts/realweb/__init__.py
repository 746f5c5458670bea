"""Real documentation sites, served over loopback as many servers, for whole-crawl tests.

``setup`` unpacks Debian documentation packages, ``start`` serves each as a host of its own with nginx, and ``count``
says which URLs a crawler that follows every link must fetch. It reads the files and shares no code with the crawler.
"""

from scripts.realweb.counting import Count, count
from scripts.realweb.nginx import is_running, remove, running_real_web, start, stop
from scripts.realweb.packages import DEFAULT_PACKAGES, SMALL_PACKAGES, setup
from scripts.realweb.web import Host, RealWeb, RealWebError, load

__all__ = [
    "DEFAULT_PACKAGES",
    "SMALL_PACKAGES",
    "Count",
    "Host",
    "RealWeb",
    "RealWebError",
    "count",
    "is_running",
    "load",
    "remove",
    "running_real_web",
    "setup",
    "start",
    "stop",
]
