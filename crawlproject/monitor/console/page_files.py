"""The files of the page, which the console serves and the report has in it."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

#: A line that stands for another file of the page.
_INCLUDE = re.compile(r"^ *<!-- ([a-z]+\.html) -->\n", re.MULTILINE)

#: What only modules in files of their own have.
_MODULE = re.compile(r"^import .*;\n|^export ", re.MULTILINE)


@cache
def page_file(name: str) -> str:
    """The text of a file, with those that it includes."""
    text = files(__package__).joinpath("page", name).read_text(encoding="utf-8")
    return _INCLUDE.sub(lambda found: page_file(found[1]), text) if name.endswith(".html") else text


@cache
def one_script(*names: str) -> str:
    """These modules as one; their names differ from each other."""
    return "\n".join(_MODULE.sub("", page_file(name)) for name in names)
