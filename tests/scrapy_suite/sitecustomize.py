"""Run by every Python process that has this folder in PYTHONPATH: crawlers of Scrapy's tests have the add-on.

Only loopback may be contacted, and nothing waits out of politeness.  Nothing of this project is imported here: some
tests look at what has been imported.
"""

from scrapy.settings import default_settings

default_settings.ADDONS = {"crawlproject.addon.FrontierAddon": 300}
default_settings.FRONTIER_ALLOWED_NETWORKS = "127.0.0.0/8,::1/128"
default_settings.FRONTIER_DELAY_FACTOR = 0
default_settings.FRONTIER_MIN_DELAY = 0
default_settings.FRONTIER_MAX_DELAY = 0
default_settings.FRONTIER_MIN_BACKOFF = 0.01
default_settings.FRONTIER_MAX_BACKOFF = 0.02
