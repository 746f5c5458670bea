"""The order of rooms: who may import whom. The core stays pure."""

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from tests.source import statements

PACKAGE = Path(__file__).resolve().parents[1] / "crawlproject"

#: Rooms from the lowest level to the highest: an import goes from a higher level to a lower one, or stays in its room.
#: Rooms of one level do not import each other.  What Scrapy loads by its path (scheduler, middlewares, handlers,
#: backends) nobody imports.  Imports in functions, and those for types only, count as all others.
LEVELS = (
    ("crawlproject", "clock", "items", "links", "requests.meta", "signals"),  # names, and what spiders yield
    ("urls",),
    ("seen",),
    ("content",),
    ("frontier",),
    ("repository", "simulation", "storage"),
    ("compat",),
    ("engine", "options", "requests.owners"),  # the latter: whose page it is, which the lane asks, too
    ("crawl_frontier",),  # what may be asked of the scheduler
    ("download",),
    ("requests", "workers"),
    ("dupefilter",),
    ("backends",),
    ("discovery",),
    ("middlewares", "monitor", "records", "scheduler"),
    ("spiders",),
    ("addon", "commands", "settings"),
)

#: Modules of a chain of imports, at most; and modules and folders directly in crawlproject/.
MAX_CHAIN = 10
MAX_AT_THE_TOP = 29

Graph = Mapping[str, frozenset[str]]

CORE = {
    "urls": {"urls"},
    "seen": {"seen", "urls"},
    "content": {"content", "seen", "urls"},
    "frontier": {"frontier", "content", "seen", "urls"},
    "simulation": {"simulation", "frontier", "urls"},
}
FORBIDDEN = {
    "scrapy",
    "twisted",
    "redis",
    "aiohttp",
    "asyncio",
    "socket",
    "ssl",
    "time",
    "datetime",
    "random",
    "logging",
}


@cache
def import_statements(path: Path) -> list[ast.Import | ast.ImportFrom]:
    """All imports of a module, at any depth."""
    nodes = statements(ast.parse(path.read_text(encoding="utf-8")))
    return [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]


def imports(path: Path) -> Iterator[str]:
    for node in import_statements(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        else:
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""


def module_name(path: Path) -> str:
    """``frontier.server``; of ``__init__`` the folder, ``crawlproject`` at the root."""
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return ".".join(part for part in parts if part != "__init__") or "crawlproject"


@cache
def graph() -> Graph:
    paths = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}
    return {name: frozenset(_imported(path, paths)) - {name} for name, path in paths.items()}


def _imported(path: Path, modules: Mapping[str, Path]) -> Iterator[str]:
    for node in import_statements(path):
        module = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""  # of a module, or of names in one
        names = [module + alias.name for alias in node.names]
        for name in names:
            if name.split(".")[0] == "crawlproject":
                short = name.removeprefix("crawlproject.")
                yield short if short in modules else short.rpartition(".")[0] or "crawlproject"


def level(module: str) -> int:
    """Its room's: the longest name of a room that its name begins with."""
    rooms = {room: number for number, level in enumerate(LEVELS) for room in level}
    parts = module.split(".")
    names = (".".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next(rooms[name] for name in names if name in rooms)


def room(module: str) -> str:
    """Its folder, or itself; ``requests.meta`` and ``requests.owners`` are by themselves."""
    return module if any(module in level for level in LEVELS) else module.partition(".")[0]


def upward(modules: Graph) -> list[str]:
    """Imports that do not go down."""
    return [
        f"{one} (level {level(one)}) imports {other} (level {level(other)})"
        for one, imported in modules.items()
        for other in sorted(imported)
        if room(one) != room(other) and level(one) <= level(other)
    ]


def longest_chain(modules: Graph) -> list[str]:
    """Modules of which each imports the next. Raises AssertionError, with the circle, where there is one."""
    known: dict[str, list[str]] = {}

    def chain(name: str, above: tuple[str, ...]) -> list[str]:
        assert name not in above, f"circle: {' -> '.join((*above[above.index(name) :], name))}"
        if name not in known:
            chains = [chain(other, (*above, name)) for other in sorted(modules[name])]
            known[name] = [name, *max(chains, key=len, default=[])]
        return known[name]

    return max((chain(name, ()) for name in modules), key=len)


def test_imports_go_down() -> None:
    """From each room to lower ones."""
    assert upward(graph()) == []


def test_imports_go_no_circles_and_no_long_ways() -> None:
    """A change in a module is felt above it, and only there."""
    chain = longest_chain(graph())
    assert len(chain) <= MAX_CHAIN, f"{len(chain)} modules: {' -> '.join(chain)}"


def test_the_top_stays_small() -> None:
    assert len({module.partition(".")[0] for module in graph()} - {"crawlproject"}) <= MAX_AT_THE_TOP


def test_each_room_is_in_the_order() -> None:
    """And nothing else is: what is gone, goes."""
    rooms = {name for level in LEVELS for name in level}
    assert {room(module) for module in graph()} == rooms


def test_core_imports_neither_scrapy_nor_clock_nor_sockets() -> None:
    """frontier/, urls/, seen/, content/, simulation/ import what is pure, and layers below."""
    for layer, allowed in CORE.items():
        for path in (PACKAGE / layer).rglob("*.py"):
            for name in imports(path):
                top, _, rest = name.partition(".")
                assert top not in FORBIDDEN, f"{path} imports {name}"
                assert top != "crawlproject" or rest.split(".")[0] in allowed, f"{path} imports {name}"


def test_the_repository_knows_neither_scrapy_nor_the_frontier() -> None:
    """repository/ does I/O on files alone, and can be used without a crawl; its middleware and options are outside."""
    for path in sorted((PACKAGE / "repository").rglob("*.py")):
        for name in imports(path):
            top, _, rest = name.partition(".")
            assert top not in {"scrapy", "twisted", "redis", "aiohttp", "socket", "random"}, f"{path.name}: {name}"
            assert top != "crawlproject" or rest.split(".")[0] in {"repository", "urls"}, f"{path.name}: {name}"


def test_workers_know_no_scrapy() -> None:
    """workers/ speaks with Redis; what it decides is as pure as the core. Its backend connects it to Scrapy."""
    for path in sorted((PACKAGE / "workers").rglob("*.py")):
        tops = {name.partition(".")[0] for name in imports(path)}
        assert not tops & {"scrapy", "scrapy_redis", "twisted"}, path.name


def test_nothing_imports_the_settings_module() -> None:
    """Settings come through the crawler."""
    for path in PACKAGE.rglob("*.py"):
        assert "crawlproject.settings" not in set(imports(path)), path
