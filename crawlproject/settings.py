"""The project's settings, each with its reason. Defaults of this package's own settings are in ``options/``."""

BOT_NAME = "crawlproject"
SPIDER_MODULES = ["crawlproject.spiders"]
NEWSPIDER_MODULE = "crawlproject.spiders"
COMMANDS_MODULE = "crawlproject.commands"

ADDONS = {"crawlproject.addon.FrontierAddon": 300}

# Say who crawls: site owners look for a name and an address before they block. Put yours here.
USER_AGENT = "crawlproject/1.0 (a Scrapy broad crawler; set USER_AGENT to your name and address)"
ROBOTSTXT_USER_AGENT = "crawlproject"
ROBOTSTXT_OBEY = True

# A broad crawl has no logins, and a cookie jar grows with every server.
COOKIES_ENABLED = False

# A slower page would occupy a connection that others could use.
DOWNLOAD_TIMEOUT = 30
DOWNLOAD_MAXSIZE = 32 * 1024 * 1024
DOWNLOAD_WARNSIZE = 0
# A truncated body is still useful: it is kept, flagged "dataloss".
DOWNLOAD_FAIL_ON_DATALOSS = False

# Process the items of a page one by one: more workers cost 1.7 ms of CPU per page.
CONCURRENT_ITEMS = 1

# A line for every request and item would be most of a fast crawl's log and a tenth of its CPU time.
LOG_LEVEL = "INFO"

# Many pages of a broad crawl fail; the log counts them by kind.
FRONTIER_LOG_FAILURES = "counts"

# A first crawl's log fits on a screen or two; LOG_LEVEL = "DEBUG" shows the rest.
FRONTIER_LOG_BRIEF = True
LOG_VERSIONS: list[str] = []

# Open no port unasked; the second would execute Python for anybody who reaches it.
TELNETCONSOLE_ENABLED = False
REMOTE_CONTROL_ENABLED = False
