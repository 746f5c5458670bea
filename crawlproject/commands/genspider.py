"""``scrapy genspider -t site NAME DOMAIN``: Scrapy's command, with this package's templates in addition.

``TEMPLATES_DIR`` names one folder only, so a package needs its own command to add a template.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from scrapy.commands import genspider
from scrapy.utils.conf import closest_scrapy_cfg

import crawlproject

if TYPE_CHECKING:
    from argparse import Namespace

OWN_TEMPLATES = Path(crawlproject.__path__[0], "commands", "templates")


class Command(genspider.Command):
    """Uses this package's template if the project (``TEMPLATES_DIR``, or Scrapy) has none of that name.

    With this package's settings, but outside a project, the spider is written to the working directory, not into the
    installed package, where the next upgrade would delete it.
    """

    def run(self, args: list[str], opts: Namespace) -> None:
        assert self.settings is not None
        if self.settings.get("NEWSPIDER_MODULE") == "crawlproject.spiders" and not closest_scrapy_cfg():
            self.settings.set("NEWSPIDER_MODULE", "", priority="cmdline")
        super().run(args, opts)

    def _find_template(self, template: str) -> Path | None:
        name = template if template.endswith(".tmpl") else f"{template}.tmpl"
        is_own = name in self._own_names() and not Path(name).exists()
        return OWN_TEMPLATES / name if is_own else super()._find_template(template)

    def _list_templates(self) -> None:
        super()._list_templates()
        for name in self._own_names():
            print(f"  {name.removesuffix('.tmpl')}")  # noqa: T201

    def _own_names(self) -> list[str]:
        """Templates of this package whose names the project does not use."""
        files = sorted(OWN_TEMPLATES.glob("*.tmpl"))
        return [file.name for file in files if not Path(self.templates_dir, file.name).exists()]
