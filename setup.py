"""Packaging: the package and its templates, nothing else. scrapyd's egg is built from it, too."""

from pathlib import Path

from setuptools import find_packages, setup

REQUIREMENTS = Path(__file__).with_name("requirements.txt").read_text(encoding="utf-8").splitlines()

setup(
    name="crawlproject",
    version="0.1.0",
    python_requires=">=3.11",
    packages=find_packages(include=["crawlproject", "crawlproject.*"]),
    package_data={"crawlproject": ["templates/spiders/*.tmpl"]},
    install_requires=[line for line in REQUIREMENTS if line and not line.startswith("#")],
    entry_points={"scrapy": ["settings = crawlproject.settings"]},
)
