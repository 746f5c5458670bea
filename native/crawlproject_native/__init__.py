"""Parts of crawlproject in C, with equal results; ``crawlproject/urls/native.py`` uses them if they are installed."""

from crawlproject_native.links import PlainLinks
from crawlproject_native.nesting import Nesting
from crawlproject_native.shingles import summary
from crawlproject_native.tags import MostOpen

#: Changes when any result changes. crawlproject only uses the number that it knows.
INTERFACE = 2

__all__ = ["INTERFACE", "MostOpen", "Nesting", "PlainLinks", "summary"]
