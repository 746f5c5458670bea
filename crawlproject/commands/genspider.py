"""``scrapy genspider -t site NAME DOMAIN``: Scrapy's command, with this project's templates besides its own."""

from __future__ import annotations

from pathlib import Path

from scrapy.commands import genspider

import crawlproject

OWN_TEMPLATES = Path(crawlproject.__path__[0], "templates", "spiders")


class Command(genspider.Command):
    """Looks for a template here first."""

    def _find_template(self, template: str) -> Path | None:
        own = OWN_TEMPLATES / f"{template}.tmpl"
        return own if own.is_file() else super()._find_template(template)

    def _list_templates(self) -> None:
        super()._list_templates()
        print("\n".join(f"  {file.stem}" for file in sorted(OWN_TEMPLATES.glob("*.tmpl"))))  # noqa: T201
