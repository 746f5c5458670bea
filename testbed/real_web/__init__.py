"""Real documentation sites, served on loopback as separate hosts, for whole-crawl tests.

``setup`` unpacks Debian documentation packages, ``start`` serves each as a host of its own with nginx, and ``count``
lists the URLs that a crawler following every link must fetch. It reads the files and shares no code with the crawler.
"""

from testbed.real_web.counting import Count, count
from testbed.real_web.nginx import is_running, remove, running_real_web, start, stop
from testbed.real_web.packages import DEFAULT_PACKAGES, SMALL_PACKAGES, setup
from testbed.real_web.web import Host, RealWeb, RealWebError, load
