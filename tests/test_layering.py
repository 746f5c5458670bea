"""The core stays pure: who may import whom."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "crawlproject"
CORE = {
    "urls": {"urls"},
    "seen": {"seen", "urls"},
    "content": {"content", "seen", "urls"},
    "frontier": {"frontier", "seen", "urls"},
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


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""


CORE_FILES = [path for layer in CORE for path in sorted((PACKAGE / layer).rglob("*.py"))]


@pytest.mark.parametrize("path", CORE_FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_core_imports_neither_scrapy_nor_clock_nor_sockets(path: Path) -> None:
    """frontier/, urls/, seen/, content/, simulation/ import what is pure, and layers below."""
    allowed = CORE[path.relative_to(PACKAGE).parts[0]]
    for name in imports(path):
        top, _, rest = name.partition(".")
        assert top not in FORBIDDEN, f"{path.name} imports {name}"
        if top == "crawlproject":
            assert rest.split(".")[0] in allowed, f"{path.name} imports {name}"


def test_the_repository_knows_neither_scrapy_nor_the_frontier() -> None:
    """repository/ does I/O on files alone, and can be used without a crawl; its middleware and options are outside."""
    for path in sorted((PACKAGE / "repository").rglob("*.py")):
        for name in imports(path):
            top, _, rest = name.partition(".")
            assert top not in {"scrapy", "twisted", "redis", "aiohttp", "socket", "random"}, f"{path.name}: {name}"
            assert top != "crawlproject" or rest.split(".")[0] in {"repository", "urls"}, f"{path.name}: {name}"


def test_nothing_imports_the_settings_module() -> None:
    """Settings come through the crawler."""
    for path in PACKAGE.rglob("*.py"):
        assert "crawlproject.settings" not in set(imports(path)), path
