"""``scrapy genspider -t site``: a spider that says how to plug it in, and runs as it says."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

from crawlproject.spiders import web
from tests.crawl.crawling import IMPOLITE
from tests.crawl.scripted_site import page, scripted_site
from tests.processes import run_python

ROOT = Path(__file__).parents[2]
TEMPLATE = Path(web.__file__).with_name("site.tmpl")
SETTINGS = """
SPIDER_MODULES = ["mine.spiders", "crawlproject.spiders"]
NEWSPIDER_MODULE = "mine.spiders"
ADDONS = {"crawlproject.addon.FrontierAddon": 300}
FRONTIER_ALLOWED_NETWORKS = ["127.0.0.0/8"]
"""


def test_a_new_spider_runs_as_its_text_says(tmp_path: Path) -> None:
    """In a project of one's own; in a checkout the template is there already."""
    assert (ROOT / "site.tmpl").read_text(encoding="utf-8") == TEMPLATE.read_text(encoding="utf-8")
    spiders = tmp_path / "mine" / "spiders"
    spiders.mkdir(parents=True)
    (spiders / "__init__.py").touch()
    (tmp_path / "mine" / "settings.py").write_text(SETTINGS, encoding="utf-8")
    (tmp_path / "scrapy.cfg").write_text("[settings]\ndefault = mine.settings\n", encoding="utf-8")
    shutil.copy(TEMPLATE, tmp_path)
    options = [part for name, value in IMPOLITE.items() for part in ("-s", f"{name}={value}")]
    with scripted_site() as site:
        site.script = {"1/": page("/a", title="start"), "1/a": page("/", title="end")}
        done = run_python("-m", "scrapy", "genspider", "-t", "site", "shop", site.url("1/"), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        text = (spiders / "shop.py").read_text(encoding="utf-8")
        commands = re.findall(r":  +scrapy (.*)", text)
        assert any(command.endswith("spiders reload") for command in commands)
        crawls = [command.split() for command in commands if command.startswith("crawl")]
        assert [command[1] for command in crawls] == ["web", "web", "shop"]
        for command in crawls:
            done = run_python("-m", "scrapy", *command, *options, cwd=tmp_path)
            assert done.returncode == 0, done.stderr
            items = [json.loads(line) for line in (tmp_path / command[-1]).read_text(encoding="utf-8").splitlines()]
            assert {item["title"] for item in items} == {"end", "start"}, done.stderr
            (tmp_path / command[-1]).unlink()
