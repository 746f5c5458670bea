"""For scrapyd-deploy, which builds its egg with setup.py; everything else is in pyproject.toml."""

from setuptools import setup

setup()
