"""Builds the extension modules; all else is in pyproject.toml."""

from Cython.Build import cythonize
from setuptools import Extension, setup

#: Every index is checked, so that no page can make the extension read or write other memory.
CHECKED = {"language_level": 3, "boundscheck": True, "wraparound": False}
PARTS = [
    Extension(f"crawlproject_native.{name}", [f"crawlproject_native/{name}.pyx"], extra_compile_args=["-O2", "-g0"])
    for name in ("links", "nesting", "shingles", "tags")
]

setup(ext_modules=cythonize(PARTS, compiler_directives=CHECKED, force=True))  # copies have any times
