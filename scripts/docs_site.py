"""Hooks of ``mkdocs.yml``: pages that stand outside ``docs/``, and those made of the code.

``mkdocs build --strict`` also checks that every link and every heading it leads to exists.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

from mkdocs.structure.files import File

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[1]
#: Page of the site -> file of the repository.
OUTSIDE = {
    "start.md": "README.md",
    "changes.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "tests.md": "tests/README.md",
}
#: What a project may use: these names follow semantic versioning.
PUBLIC = (
    "crawlproject.addon.FrontierAddon",
    "crawlproject.links.Links",
    "crawlproject.spiders.web.WebSpider",
    "crawlproject.spiders.site.SiteSpider",
    "crawlproject.frontier.policy.Policy",
    "crawlproject.frontier.quality.Quality",
    "crawlproject.backends.protocol.Backend",
)
#: Prints what each command says of itself: one process imports what they need once.
HELP = """
import sys
from scrapy.cmdline import execute
for name in sys.argv[1:]:
    try:
        execute(["scrapy", name, "--help"])
    except SystemExit:
        print("\\0", flush=True)
"""
_link = re.compile(r"\[([^\]]*)\]\(([^)#:\s]+)(#[^)\s]*)?\)")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages."""
    for page, source in OUTSIDE.items():
        files.append(File.generated(config, page, content=(ROOT / source).read_text(encoding="utf-8")))
    api = "# API\n\n" + "\n\n".join(f"::: {name}" for name in PUBLIC)
    files.append(File.generated(config, "api.md", content=api))
    files.append(File.generated(config, "commands.md", content=commands()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001 - mkdocs names it
    """Let links to files of the repository lead to pages of the site; those to others become text."""
    source = ROOT / OUTSIDE.get(page.file.src_uri, f"docs/{page.file.src_uri}")
    pages = {(ROOT / path).resolve(): name for name, path in OUTSIDE.items()}
    pages |= {(ROOT / "docs" / file.src_uri).resolve(): file.src_uri for file in files}
    up = "../" * page.file.src_uri.count("/")

    def moved(found: re.Match[str]) -> str:
        target = (source.parent / found[2]).resolve()
        if target in pages:
            return f"[{found[1]}]({up}{pages[target]}{found[3] or ''})"
        return found[1] if target.exists() else found[0]

    return _link.sub(moved, markdown)


def commands() -> str:
    """The page of the commands: their own help."""
    parts = ["# Commands"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = sorted(project["entry-points"]["scrapy.commands"])
    told = subprocess.run([sys.executable, "-c", HELP, *names], cwd=ROOT, capture_output=True, text=True, check=True)
    for name, text in zip(names, told.stdout.removesuffix("\0\n").split("\0\n"), strict=True):
        parts.append(f"## scrapy {name}\n\n```text\n{text.strip()}\n```")
    return "\n\n".join(parts)
