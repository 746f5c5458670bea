"""When options are parsed, and who reads settings."""

from __future__ import annotations

import ast
import gc
import weakref
from pathlib import Path
from typing import Any

import pytest
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.settings import Settings
from scrapy.utils.test import get_crawler

from crawlproject.addon import FrontierAddon
from crawlproject.options.all_settings import DEFAULTS, FAMILIES, OTHERS
from crawlproject.options.following import LinkOptions
from crawlproject.options.network import NetworkOptions
from crawlproject.options.scheduling import FrontierOptions
from crawlproject.options.values import Options, age_seconds

PACKAGE = Path(__file__).resolve().parents[2] / "crawlproject"


def crawler_of(settings: dict[str, Any]) -> Crawler:
    """A crawler whose settings may still change."""
    return Crawler(Spider, settings)


@pytest.mark.parametrize("family", FAMILIES)
def test_options_of_a_crawler_are_parsed_once(family: type[Options]) -> None:
    """Settings that the family does not read make no difference."""
    crawler = crawler_of({"FRONTIER_LINKS_FILE": "links"})
    options = family.of(crawler)
    crawler.settings.set("SOME_OTHER_SETTING", 1)
    assert family.of(crawler) is options


def test_options_follow_settings_that_change_before_the_crawl() -> None:
    """New values, values changed in place, other priorities of the same value; of our settings and of Scrapy's."""
    crawler = crawler_of({"FRONTIER_ALLOWED_NETWORKS": ["10.0.0.1"], "FRONTIER_MAX_BATCH": 5})
    assert FrontierOptions.of(crawler).max_batch == 5
    crawler.settings.set("FRONTIER_MAX_BATCH", 6, priority="spider")
    assert FrontierOptions.of(crawler).max_batch == 6
    assert len(NetworkOptions.of(crawler).allowed_networks) == 1
    crawler.settings["FRONTIER_ALLOWED_NETWORKS"].append("10.0.0.2")
    assert len(NetworkOptions.of(crawler).allowed_networks) == 2
    assert NetworkOptions.of(crawler).dns_timeout == 10
    crawler.settings.set("DNS_TIMEOUT", crawler.settings["DNS_TIMEOUT"], priority="project")
    assert NetworkOptions.of(crawler).dns_timeout == 60
    crawler.settings["DOWNLOAD_SLOTS"]["a.example"] = {"delay": 7}
    assert FrontierOptions.of(crawler).politeness.host_delays == {"a.example": 7}
    assert LinkOptions.of(crawler).max_depth == 0
    crawler.settings.set("DEPTH_LIMIT", 3)
    assert LinkOptions.of(crawler).max_depth == 3


def test_wrong_value_is_refused_each_time() -> None:
    """And no other options take its place."""
    crawler = crawler_of({})
    FrontierOptions.of(crawler)
    crawler.settings.set("FRONTIER_MAX_BATCH", 0)
    for _ in range(2):
        with pytest.raises(ValueError, match="FRONTIER_MAX_BATCH=0: must be a whole number >= 1"):
            FrontierOptions.of(crawler)


def test_each_crawler_has_its_own_options() -> None:
    """Also with equal settings: a quality of the project's own may remember pages. They end with the crawler."""
    first, second, third = crawler_of({}), crawler_of({}), crawler_of({"FRONTIER_MAX_BATCH": 5})
    assert FrontierOptions.of(first) is not FrontierOptions.of(second)
    assert FrontierOptions.of(first).quality is not FrontierOptions.of(second).quality
    assert [FrontierOptions.of(each).max_batch for each in (first, second, third)] == [100, 100, 5]
    options = weakref.ref(FrontierOptions.of(first))
    del first
    gc.collect()
    assert options() is None


def test_addon_parses_for_the_crawler_that_it_belongs_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """Components get what it has checked, with what it has set."""
    crawler = get_crawler(settings_dict={"ADDONS": {"crawlproject.addon.FrontierAddon": 300}, "DOWNLOAD_DELAY": 2})
    for family in FAMILIES:
        monkeypatch.setattr(family, "read", None)
        family.of(crawler)
    assert FrontierOptions.of(crawler).politeness.request_delay == 2


@pytest.mark.parametrize("value", ["soon", "7w", True, "-1d", ""])
def test_wrong_age_is_refused(value: object) -> None:
    """With name, value and what is allowed."""
    with pytest.raises(ValueError, match=rf"^recrawl={value!r}: must be an age such as 7d, 12h, 30m, 90s, or a number"):
        age_seconds("recrawl", value)


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        *[(name, "perhaps", "True or False") for name, default in DEFAULTS.items() if isinstance(default, bool)],
        *[(name, -1, "a whole number >= ") for name, default in DEFAULTS.items() if type(default) is int],
        *[(name, "soon", "a number >= ") for name, default in DEFAULTS.items() if isinstance(default, float)],
        *[(name, 5, "a path") for name in DEFAULTS if name.endswith(("_FILE", "_DIR", "_CACHE_URLS"))],
        ("FRONTIER_LOG_FAILURES", "all", "one of lines, counts"),
        ("FRONTIER_DUPLICATES_FOLLOW", "exact", "one of none, all"),
        ("FRONTIER_RECRAWL_AGE", "soon", "an age"),
        ("FRONTIER_DUPLICATES_THRESHOLD", 95, "above 0 and at most 1"),
        ("FRONTIER_LINKS_TYPES", "html", "media types such as text/html, text/* or */*+xml"),
        ("FRONTIER_LINKS_SKIP_EXTENSIONS", 5, "a list, or a string with commas between its entries"),
        ("FRONTIER_DROP_PARAMETERS", "a b", "name, prefix*, name=<id> or ;name"),
        ("FRONTIER_GUARD_RELEASED", 5, "a list, or a string with commas between its entries"),
        ("JOBDIR", 5, None),
        ("DEPTH_LIMIT", -1, "a whole number >= 0"),
        ("URLLENGTH_LIMIT", "x", "a whole number >= 0"),
        ("LOGSTATS_INTERVAL", "x", "a number >= 0"),
        ("DNSCACHE_ENABLED", "x", "True or False"),
        ("DOWNLOAD_DELAY", "x", "a number >= 0"),
        ("DOWNLOAD_SLOTS", {"a.example": 5}, "a dict of dicts"),
    ],
)
def test_addon_refuses_every_wrong_value(name: str, value: object, allowed: str | None) -> None:
    """In one line with setting, value and what is allowed; Scrapy's own settings that we read among them."""
    with pytest.raises(ValueError, match=rf"^{name}=") as error:
        FrontierAddon().update_settings(Settings({name: value}))
    message = str(error.value)
    assert message.startswith(f"{name}={value!r}: ")
    assert "\n" not in message
    assert allowed is None or f": must be {allowed}" in message


#: Who has names of settings in its code though it reads none.
WRITERS = {
    "spiders/web.py": "sets them from the spider's arguments, as a user would with -s",
    "spiders/keyword.py": "sets them for its crawls, as a project would: a level waits for dead servers",
    "commands/worker_crawl.py": "gives each worker files and a port of its own, as a user would with -s",
    "commands/rules.py": "unsets FRONTIER_RECORDS_DB: a look at one page writes nothing",
}


def test_settings_are_read_by_name_only_in_options() -> None:
    """Elsewhere no string is the name of one of our settings, and no room makes a reader of its own."""
    names = set(DEFAULTS) | OTHERS
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        place = path.relative_to(PACKAGE)
        if place.parts[0] == "options":
            continue
        tree = list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))
        named = {node.value for node in tree if isinstance(node, ast.Constant) and node.value in names}
        named |= {alias.name for node in tree if isinstance(node, ast.ImportFrom) for alias in node.names} & {"Reader"}
        if named:
            found[str(place)] = named
    assert found.keys() == WRITERS.keys(), found
    assert found["spiders/web.py"] <= set(DEFAULTS)


def test_writers_do_not_read() -> None:
    """Their names are arguments of ``settings.set``, keys of what they set, or of the table of arguments."""
    for place in WRITERS:
        for node in ast.walk(ast.parse((PACKAGE / place).read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.startswith("get"):
                read = {arg.value for arg in node.args if isinstance(arg, ast.Constant)}
                assert not read & set(DEFAULTS), f"{place}: {ast.unparse(node)}"


@pytest.mark.parametrize("name", ["JOBDIR", "FRONTIER_DIR"])
def test_paths_that_the_locale_cannot_spell_are_refused(name: str) -> None:
    """With LC_ALL=C, "j\u00f6b" comes as stand-ins for its bytes, which no store can write."""
    with pytest.raises(ValueError, match="LC_ALL"):
        FrontierOptions.from_settings(Settings({name: "j\udcc3\udcb6b"}))
    assert FrontierOptions.from_settings(Settings({name: "j\u00f6b"})).directory is not None
