"""The parts that are compiled to C, where that is possible; everything else is in pyproject.toml."""

import os
import sys

if sys.version_info < (3, 11):  # noqa: UP036 - older ones read this far
    sys.exit("crawlproject needs Python 3.11 or newer, this is %s" % sys.version.split()[0])  # noqa: UP031

from setuptools import Extension, setup

#: Without a compiler, Cython or Python's headers, Python computes the same (crawlproject/urls/native).
PARTS = ("shingles",)


def part(name):
    return Extension(
        f"crawlproject.urls.native.{name}",
        [f"crawlproject/urls/native/{name}.pyx"],
        optional=True,
        extra_compile_args=["-g0"],
    )


# scrapyd reads an egg where it lies, which no compiled module can be loaded from; the pure wheel is for any Python.
is_pure = "bdist_egg" in sys.argv or os.environ.get("CRAWLPROJECT_PURE") == "1"
setup(ext_modules=[] if is_pure else [part(name) for name in PARTS])
