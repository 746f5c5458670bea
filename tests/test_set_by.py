"""Parts are handed in: nobody sets an attribute of an object that somebody else has made."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.source import statements

PACKAGE = Path(__file__).resolve().parents[1] / "crawlproject"

#: Scrapy's properties that must be set are set here; in the second those that its versions name differently.
ENGINE = ("engine.py", "compat.py")

#: Objects of libraries that take these values in no other way, and what the trap guard notes about a page and a server.
EXCEPTIONS = {
    "backends/start_urls.py self._spider": "a spider of scrapy-redis would ask Redis itself, and block",
    "discovery/skipped_files.py server": "made when the first file is seen: few servers have any",
    "discovery/trap_guard.py page": "of the trap guard",
    "discovery/trap_guard.py server.guard": "of the trap guard",
    "download/body_budget.py each": "a traceback refers to bodies",
    "download/body_budget.py end": "weakref.finalize has no argument for it",
    "download/rendering/browser.py config": "scrapy-playwright reads settings only",
    "download/transfer.py self._stop": "Scrapy's StopDownload, as Scrapy's handlers complete it",
    "monitor/logs.py record": "a filter of logging changes the record",
    "options/start_errors.py record": "a filter of logging changes the record",
    "simulation/crawl.py session.server": "the simulated server closes the connection later",
    "urls/fates.py reason": "a member of an enumeration gets its value as it is made",
    "spiders/topic.py parse": "a function made there gets its name",
}

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def trees() -> dict[str, ast.Module]:
    paths = sorted(PACKAGE.rglob("*.py"))
    return {str(path.relative_to(PACKAGE)): ast.parse(path.read_text(encoding="utf-8")) for path in paths}


@cache
def states() -> dict[str, set[str]]:
    """Folder -> attributes of its classes, and room -> fields of its dataclasses: state that their functions share.

    What holds a function is no state but a wire.
    """
    found: defaultdict[str, set[str]] = defaultdict(set)
    wires: defaultdict[str, set[str]] = defaultdict(set)
    for path, tree in trees().items():
        for kind in (node for node in statements(tree) if isinstance(node, ast.ClassDef)):
            marks = [ast.unparse(mark) for mark in kind.decorator_list]
            is_record = any("dataclass" in mark and "frozen=True" not in mark for mark in marks)
            where = room(path) if is_record else folder(path)
            for node in statements(kind):
                if not isinstance(node, ast.Assign | ast.AnnAssign):
                    continue
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                is_wire = isinstance(node, ast.AnnAssign) and "Callable" in ast.unparse(node.annotation)
                names = {each.attr for each in _within(targets) if _is_own(each)}
                names |= {each.id for each in targets if isinstance(each, ast.Name) and node in kind.body}
                (wires if is_wire else found)[where] |= names
    return {where: names - wires[where] for where, names in found.items()}


def _within(targets: list[ast.expr]) -> Iterator[ast.Attribute]:
    for target in targets:
        yield from (each for each in ast.walk(target) if isinstance(each, ast.Attribute))


def _is_own(attribute: ast.Attribute) -> bool:
    return isinstance(attribute.value, ast.Name) and attribute.value.id == "self"


def folder(path: str) -> str:
    return path.rpartition("/")[0]


def room(path: str) -> str:
    return path.partition("/")[0]


def is_new(value: ast.expr | None) -> bool:
    """Whether an expression makes an object: by its class, ``cls`` or ``super()``."""
    value = value.value if isinstance(value, ast.Await) else value
    if not isinstance(value, ast.Call):
        return False
    called = ast.unparse(value.func)
    return called.rpartition(".")[2][:1].isupper() or called.startswith(("cls", "super()", "object.__new__", "type("))


def assigned(function: ast.AST) -> Iterator[tuple[ast.Attribute, ast.stmt]]:
    for node in statements(function):
        if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign | ast.Delete):
            targets = node.targets if isinstance(node, ast.Assign | ast.Delete) else [node.target]
            for target in targets:
                for each in ast.walk(target):
                    if isinstance(each, ast.Attribute) and not isinstance(each.ctx, ast.Load):
                        yield each, node


def set_by_others() -> set[str]:
    found = set()
    for path, tree in trees().items():
        for function in (node for node in statements(tree) if isinstance(node, _FUNCTIONS)):
            made = {"self", "cls"}
            for node in statements(function):
                if isinstance(node, ast.Assign | ast.AnnAssign) and is_new(node.value):
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    made |= {ast.unparse(target) for target in targets}
            for attribute, _ in assigned(function):
                owner = ast.unparse(attribute.value)
                if (
                    path not in ENGINE
                    and owner not in made
                    and not any(attribute.attr in states().get(where, ()) for where in (folder(path), room(path)))
                ):
                    found.add(f"{path} {owner}.{attribute.attr}")
    return found


def test_nobody_sets_an_attribute_of_what_another_has_made() -> None:
    """Only its class and its folder do, of state that is no function; or who has just made it."""
    found = set_by_others()
    allowed = {each for each in found if each.rpartition(".")[0] in EXCEPTIONS}
    assert found == allowed
    assert {each.rpartition(".")[0] for each in allowed} == EXCEPTIONS.keys()
