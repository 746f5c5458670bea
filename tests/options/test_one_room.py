"""A parsed setting is read in one room besides the options; others ask what that room has built from it."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path

import crawlproject
from crawlproject.options.all_settings import FAMILIES

PACKAGE = Path(crawlproject.__file__).parent

FIELDS = {family.__name__: {field.name for field in fields(family)} for family in FAMILIES}

#: Fields read in two rooms, and why.
TWO_ROOMS = {
    "ConsoleOptions.port": "the console listens there; ``scrapy workers`` prints its address",
    "FrontierOptions.backend": "backends open it; middlewares, built earlier, switch themselves off without a store",
    "FrontierOptions.directory": "backends keep the store there; the middleware for duplicates adds its file",
    "FrontierOptions.fast_lane": "the scheduler opens the lane; the downloader's middlewares are called by it, too",
    "FrontierOptions.max_parked": "the frontier parks sessions; downloads also keep this limit under another scheduler",
    "FrontierOptions.max_sessions": "as max_parked",
    "FrontierOptions.quality": "the scheduler values links by it; the disk backend indexes URLs if it can rise",
    "LimitOptions.denied": "refused as links in discovery, and as requests from elsewhere in a middleware",
    "LinkOptions.canonicalizer": "the dupefilter owns it; ``scrapy parse`` has none",
    "LinkOptions.readers": "discovery reads links by it; the middleware reads large pages off the loop",
    "DuplicateOptions.near": "the middleware compares texts; page_reading tells the first parse to extract them",
    "RedisOptions.connection": "the backend connects by it; ``scrapy frontier`` and ``scrapy workers`` look in",
    "RedisOptions.timeout": "as connection",
    "RobotsOptions.max_failures": "the middleware gives servers up by it; the monitor forecasts when",
    "RepositorySettings.directory": "the middleware writes there; ``scrapy repository`` reads without a crawl",
}


class Readers(ast.NodeVisitor):
    """Finds reads of options in one module: of ``Family.of(...)``, and of names and attributes that hold one."""

    def __init__(self, tree: ast.AST) -> None:
        self._families: dict[str, str] = {}  # expression -> family
        self.found: set[str] = set()
        nodes = list(ast.walk(tree))
        for node in nodes * 2:  # the second time follows ``self._options = options``
            for target, family in self._bound(node):
                if family:
                    self._families[target] = family
        for node in nodes:
            family = self._family(node.value) if isinstance(node, ast.Attribute) else None
            if family and isinstance(node, ast.Attribute) and node.attr in FIELDS[family]:
                self.found.add(f"{family}.{node.attr}")

    def _bound(self, node: ast.AST) -> Iterator[tuple[str, str | None]]:
        """Expressions that ``node`` gives a value, with the family of the value."""
        if isinstance(node, ast.arg):
            yield node.arg, _annotated(node.annotation)
        elif isinstance(node, ast.AnnAssign):
            yield ast.unparse(node.target), _annotated(node.annotation)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                pairs = [(target, node.value)]
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                    pairs = list(zip(target.elts, node.value.elts, strict=False))
                yield from ((ast.unparse(name), self._family(value)) for name, value in pairs)

    def _family(self, node: ast.expr) -> str | None:
        if not isinstance(node, ast.Call):
            return self._families.get(ast.unparse(node)) if isinstance(node, ast.Name | ast.Attribute) else None
        maker = node.func
        if isinstance(maker, ast.Attribute) and maker.attr in ("of", "from_settings", "read"):
            return name if (name := ast.unparse(maker.value)) in FIELDS else None
        if ast.unparse(maker) == "replace" and node.args:
            return self._family(node.args[0])
        return None


def _annotated(annotation: ast.expr | None) -> str | None:
    """The family in an annotation such as ``SeenOptions | None``."""
    names = ast.unparse(annotation).strip("'\"").split(" | ") if annotation else []
    return next((name for name in names if name in FIELDS), None)


@cache
def rooms() -> dict[str, set[str]]:
    found = defaultdict(set)
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).parts[0]
        if room != "options":
            for field in Readers(ast.parse(path.read_text(encoding="utf-8"))).found:
                found[field].add(room)
    return found


def test_setting_enters_one_room() -> None:
    entered = {field: found for field, found in rooms().items() if len(found) > 1}
    assert entered.keys() - TWO_ROOMS.keys() == set(), entered
    more = {field: found - {"commands"} for field, found in entered.items()}  # a command tells what they do
    assert {field: found for field, found in more.items() if len(found) > 2} == {}
    assert TWO_ROOMS.keys() - entered.keys() == set(), "entered one room: no longer an exception"
