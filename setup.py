"""For scrapyd-deploy, which builds its egg with setup.py; everything else is in pyproject.toml."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - older ones read this far
    sys.exit("crawlproject needs Python 3.11 or newer, this is %s" % sys.version.split()[0])  # noqa: UP031

from setuptools import setup

setup()
