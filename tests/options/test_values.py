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
from crawlproject.options.network import NetworkOptions
from crawlproject.options.scheduling import FrontierOptions
from crawlproject.options.values import Options, age_seconds

PACKAGE = Path(__file__).resolve().parents[2] / "crawlproject"


def crawler_of(settings: dict[str, Any]) -> Crawler:
    """A crawler whose settings may still change."""
    return Crawler(Spider, settings)


@pytest.mark.parametrize("family", FAMILIES)
def test_options_of_a_crawler_are_parsed_once(family: type[Options]) -> None:
    """When settings cannot change any more; they end with the crawler."""
    crawler = crawler_of({"FRONTIER_LINKS_FILE": "links"})
    crawler.settings.freeze()
    options = family.of(crawler)
    assert family.of(crawler) is options
    assert family.of(crawler_of({})) is not options
    found = weakref.ref(options)
    del crawler, options
    gc.collect()
    assert found() is None


def test_options_follow_settings_that_change_before_the_crawl() -> None:
    """New values, values changed in place, other priorities of the same value; of our settings and of Scrapy's."""
    crawler = crawler_of({"FRONTIER_ALLOWED_NETWORKS": ["10.0.0.1"], "FRONTIER_MAX_BATCH": 5})
    assert FrontierOptions.of(crawler).max_batch == 5
    crawler.settings.set("FRONTIER_MAX_BATCH", 6, priority="spider")
    assert FrontierOptions.of(crawler).max_batch == 6
    crawler.settings["FRONTIER_ALLOWED_NETWORKS"].append("10.0.0.2")
    assert len(NetworkOptions.of(crawler).allowed_networks) == 2
    assert NetworkOptions.of(crawler).dns_timeout == 10
    crawler.settings.set("DNS_TIMEOUT", crawler.settings["DNS_TIMEOUT"], priority="project")
    assert NetworkOptions.of(crawler).dns_timeout == 60
    crawler.settings["DOWNLOAD_SLOTS"]["a.example"] = {"delay": 7}
    assert FrontierOptions.of(crawler).politeness.host_delays == {"a.example": 7}


def test_components_get_what_the_addon_has_set() -> None:
    crawler = get_crawler(settings_dict={"ADDONS": {"crawlproject.addon.FrontierAddon": 300}, "DOWNLOAD_DELAY": 2})
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
        ("FRONTIER_DROP_PARAMETERS", "a b", "name, prefix* or ;name"),
        ("FRONTIER_GUARD_RELEASED", 5, "a list, or a string with commas between its entries"),
        ("FRONTIER_SEEN_SET", "fuzzy", "one of exact, bloom"),
        ("FRONTIER_SEEN_BLOOM_ERROR", "2", "above 0 and at most 1"),
        ("FRONTIER_RENDER", "sometimes", "one of never, auto, always"),
        ("FRONTIER_RENDER_MAX_MEMORY", 1000, "a whole number >= 200000000"),
        ("PLAYWRIGHT_LAUNCH_OPTIONS", "x", "a dict"),
        ("PLAYWRIGHT_LAUNCH_OPTIONS", {"args": "--x"}, "with a list of args"),
        ("PLAYWRIGHT_LAUNCH_OPTIONS", {"args": ["--no-proxy-server"]}, "without proxy"),
        ("PLAYWRIGHT_LAUNCH_OPTIONS", {"proxy": {}}, "without proxy"),
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
    "workers/connection.py": "removes them from the arguments of a client that it makes",
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
        text = path.read_text(encoding="utf-8")
        if not any(name in text for name in (*names, "Reader")):
            continue
        tree = list(ast.walk(ast.parse(text)))
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
