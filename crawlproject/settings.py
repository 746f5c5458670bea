"""Settings of the project, each with its reason; those of the frontier have their defaults in ``options/``."""

BOT_NAME = "crawlproject"
SPIDER_MODULES = ["crawlproject.spiders"]
NEWSPIDER_MODULE = "crawlproject.spiders"
COMMANDS_MODULE = "crawlproject.commands"

ADDONS = {"crawlproject.addon.FrontierAddon": 300}

# Say who crawls: site owners look for a name and an address before they block. Put your own here.
USER_AGENT = "crawlproject/0.1 (a Scrapy broad crawler; set USER_AGENT to your name and address)"
ROBOTSTXT_USER_AGENT = "crawlproject"
ROBOTSTXT_OBEY = True

# A broad crawl has no logins, and a cookie jar grows with every server.
COOKIES_ENABLED = False

# A page that takes longer holds one of the connections that others could use.
DOWNLOAD_TIMEOUT = 30
DOWNLOAD_MAXSIZE = 32 * 1024 * 1024
DOWNLOAD_WARNSIZE = 0
# What came is worth having: a body cut short is kept, flagged "dataloss".
DOWNLOAD_FAIL_ON_DATALOSS = False

# Items of one page one after another: more workers per page cost 1.7 ms of CPU for each page.
CONCURRENT_ITEMS = 1

# A line for every request and every item is most of a fast crawl's log and a tenth of its CPU.
LOG_LEVEL = "INFO"

# Of a broad crawl's pages many fail, and each says little: the log has their number by kind.
FRONTIER_LOG_FAILURES = "counts"

# Neither opens a port unasked; the second executes Python for whoever reaches it.
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False
