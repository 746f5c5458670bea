"""What scrapyd's egg holds: the package and its templates, nothing else."""

from setuptools import find_packages, setup

setup(
    name="crawlproject",
    version="0.1.0",
    packages=find_packages(include=["crawlproject", "crawlproject.*"]),
    package_data={"crawlproject": ["templates/spiders/*.tmpl"]},
    entry_points={"scrapy": ["settings = crawlproject.settings"]},
)
