"""The examples in the docstrings are true."""

import doctest
import importlib
import pkgutil

import crawlproject.urls


def test_examples_in_docstrings():
    """Every example of the package gives the result shown."""
    names = [module.name for module in pkgutil.iter_modules(crawlproject.urls.__path__, "crawlproject.urls.")]
    results = [doctest.testmod(importlib.import_module(name)) for name in names]
    assert sum(result.attempted for result in results) >= 5
    assert all(result.failed == 0 for result in results)
