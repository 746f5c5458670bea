"""The settings of a crawl over Redis: scrapy-redis's with its meaning, and our own."""

import re
from typing import Any

import pytest
from scrapy.settings import Settings

from crawlproject.addon import FrontierAddon
from crawlproject.backends import choice
from crawlproject.dupefilter import SeenDupeFilter
from crawlproject.frontier import BestPrefix, Frontier, Politeness
from crawlproject.options.all_settings import OF_SCRAPY_REDIS, check_names
from crawlproject.options.extras import MissingExtraError
from crawlproject.options.redis import RedisOptions
from crawlproject.options.scheduling import FrontierOptions
from tests.backends.worker import WorkerSpider, crawler_of
from tests.crawl_ports import NO_HOST


def options(**settings: Any) -> RedisOptions:
    return RedisOptions.from_settings(Settings(settings))


def test_parameters_of_the_client() -> None:
    """Those of scrapy-redis: its own settings win over REDIS_PARAMS; 0 and "" are not set."""
    params = {"host": "one", "password": "x", "redis_cls": "redis.Redis"}
    made = options(REDIS_PARAMS=params, REDIS_HOST="two", REDIS_PORT="6380", REDIS_DB="0", REDIS_ENCODING="")
    assert made.connection == {"host": "two", "port": 6380, "password": "x", "redis_cls": "redis.Redis"}
    assert options(REDIS_PARAMS='{"username": "x"}', REDIS_URL="redis://h/1").connection == {
        "username": "x",
        "url": "redis://h/1",
    }
    assert params["host"] == "one"


@pytest.mark.filterwarnings("ignore:Call to '__init__'")  # of redis-py, which calls a default of scrapy-redis old
def test_scrapy_redis_takes_the_same_parameters() -> None:
    """By its own function."""
    connection = pytest.importorskip("scrapy_redis.connection")
    given = {"REDIS_HOST": "h", "REDIS_PORT": 1, "REDIS_DB": 2, "REDIS_PARAMS": {"socket_timeout": 3}}
    theirs = connection.get_redis_from_settings(Settings(given)).connection_pool.connection_kwargs
    ours = options(**given).connection
    assert ours == {"host": "h", "port": 1, "db": 2, "socket_timeout": 3}
    assert {name: theirs[name] for name in ours} == ours


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({"REDIS_START_URLS_AS_SET": True}, "set"),
        ({"REDIS_START_URLS_AS_ZSET": "1"}, "zset"),
        ({"REDIS_START_URLS_AS_SET": True, "REDIS_START_URLS_AS_ZSET": True}, "set"),
    ],
)
def test_type_of_the_start_urls(given: dict[str, Any], kind: str) -> None:
    """A set wins, as in scrapy-redis."""
    assert options(**given).start_urls_type == kind


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("REDIS_PORT", "six"),
        ("REDIS_URL", 5),
        ("REDIS_PARAMS", "[1]"),
        ("REDIS_START_URLS_KEY", ""),
        ("REDIS_START_URLS_KEY", "%(spider)s"),
        ("FRONTIER_REDIS_KEY", "a{b"),
        ("FRONTIER_REDIS_KEY", "x" * 201),
        ("FRONTIER_PARTITIONS", 100),
        ("FRONTIER_PARTITIONS", 8192),
        ("FRONTIER_LEASE", 1.9),
    ],
)
def test_wrong_setting_stops_the_start(name: str, value: Any) -> None:
    """In one line with the name and the value, whatever the backend."""
    with pytest.raises(ValueError, match=re.escape(f"{name}={value!r}"[:100])) as error:
        FrontierAddon().update_settings(Settings({name: value}))
    assert "\n" not in str(error.value)


def test_a_spider_whose_name_cannot_be_a_key_is_refused() -> None:
    """Where it has to be one."""
    with pytest.raises(ValueError, match=r"FRONTIER_REDIS_KEY: .*'a\{b'"):
        options().key_of("a{b")
    assert options(FRONTIER_REDIS_KEY="x").key_of("a{b") == "x"


def test_settings_of_scrapy_redis_are_no_misspellings(caplog: pytest.LogCaptureFixture) -> None:
    """Those that its pipeline reads."""
    check_names(Settings(dict.fromkeys(OF_SCRAPY_REDIS, "x")))
    assert caplog.text == ""


def open_backend(**settings: Any) -> None:
    crawler = crawler_of(WorkerSpider, FRONTIER_BACKEND="redis", **settings)
    frontier = Frontier(BestPrefix(), Politeness())
    seen = SeenDupeFilter.from_crawler(crawler)
    choice.open_backend(crawler, FrontierOptions.of(crawler), frontier, seen, NO_HOST)


def test_no_recrawl_over_redis() -> None:
    """It needs the disk backend."""
    with pytest.raises(ValueError, match=r"recrawl \(FRONTIER_RECRAWL_AGE\) needs FRONTIER_BACKEND='disk'"):
        open_backend(FRONTIER_RECRAWL_AGE="7d")


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one line that says what to install."""

    def load(path: str) -> Any:
        raise ModuleNotFoundError("no", name="msgpack")

    monkeypatch.setattr(choice, "load_object", load)
    with pytest.raises(MissingExtraError, match=r"FRONTIER_BACKEND='redis' needs: pip install '.\[redis\]'"):
        open_backend()
