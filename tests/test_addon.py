"""What the add-on sets, and what it leaves to the project."""

import re
import warnings
from typing import Any

import pytest
from scrapy.core.downloader.handlers.ftp import FTPDownloadHandler
from scrapy.downloadermiddlewares.httpcompression import HttpCompressionMiddleware
from scrapy.downloadermiddlewares.redirect import MetaRefreshMiddleware, RedirectMiddleware
from scrapy.downloadermiddlewares.robotstxt import RobotsTxtMiddleware
from scrapy.settings import Settings
from scrapy.utils.conf import build_component_list
from scrapy.utils.misc import load_object
from scrapy.utils.python import global_object_name
from scrapy.utils.test import get_crawler

from crawlproject.addon import FrontierAddon
from crawlproject.compat import engine_of
from crawlproject.crawl_frontier import frontier_of
from crawlproject.download.handler import FrontierDownloadHandler
from crawlproject.dupefilter import SeenDupeFilter
from crawlproject.engine import EngineAlarm, unfinished_requests
from crawlproject.middlewares.admission import AdmissionMiddleware, PolitenessMiddleware
from crawlproject.middlewares.links import LinksMiddleware
from crawlproject.middlewares.timing import ServerTimingMiddleware
from crawlproject.monitor.load import LoadMonitor
from crawlproject.options.all_settings import check_names
from crawlproject.scheduler import FrontierScheduler

ADDONS = {"crawlproject.addon.FrontierAddon": 300}
STOCK_SCHEDULER = "scrapy.core.scheduler.Scheduler"


def with_addon(settings: dict[str, Any] | None = None, priority: str = "project") -> Settings:
    project = Settings()
    project.setdict(settings or {}, priority=priority)
    FrontierAddon().update_settings(project)
    return project


def components(settings: Settings, name: str) -> list[Any]:
    """The classes of a setting of components, in order."""
    return [
        load_object(component)
        for component in build_component_list(settings.get_component_priority_dict_with_base(name))
    ]


def test_switches_everything_on() -> None:
    """A crawler with nothing but the add-on has scheduler, dupefilter and handlers of this project."""
    settings = get_crawler(settings_dict={"ADDONS": ADDONS, "DOWNLOAD_HANDLERS": {}}).settings
    assert load_object(settings["SCHEDULER"]) is FrontierScheduler
    assert load_object(settings["DUPEFILTER_CLASS"]) is SeenDupeFilter
    for scheme in ("http", "https"):
        assert load_object(settings.getwithbase("DOWNLOAD_HANDLERS")[scheme]) is FrontierDownloadHandler


def test_places_of_the_downloader_middlewares() -> None:
    """Admission before robots.txt, politeness after it, timing after the cache, all of Scrapy's own still there."""
    found = components(with_addon({"FRONTIER_REPOSITORY_DIR": "pages"}), "DOWNLOADER_MIDDLEWARES")
    names = [component.__name__ for component in found]
    stock = components(Settings(), "DOWNLOADER_MIDDLEWARES")
    assert [cls for component in found for cls in stock if issubclass(component, cls)] == stock
    expected = ["Admission", "Robots", "Politeness", "ServerRetry", "HttpCache", "ServerTiming", "Repository"]
    assert sorted((f"{name}Middleware" for name in expected), key=names.index) == [f"{n}Middleware" for n in expected]


def test_components_stand_among_scrapys() -> None:
    """Links are taken before Scrapy's middlewares look at requests; extensions are gone where the project says so."""
    names = [component.__name__ for component in components(with_addon(), "SPIDER_MIDDLEWARES")]
    for name in ("HttpErrorMiddleware", "RefererMiddleware", "UrlLengthMiddleware", "DepthMiddleware"):
        assert names.index(name) < names.index(LinksMiddleware.__name__)
    assert LoadMonitor in components(with_addon(), "EXTENSIONS")
    assert LoadMonitor not in components(with_addon({"EXTENSIONS": {LoadMonitor: None}}), "EXTENSIONS")


@pytest.mark.parametrize("priority", ["project", "spider", "cmdline"])
@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SCHEDULER", STOCK_SCHEDULER),
        ("DUPEFILTER_CLASS", "scrapy.dupefilters.BaseDupeFilter"),
        ("CONCURRENT_REQUESTS", 7),
    ],
)
def test_choice_of_the_project_wins(name: str, value: Any, priority: str) -> None:
    """Wherever the project makes it."""
    assert with_addon({name: value}, priority)[name] == value


def test_download_handlers_of_the_project_win() -> None:
    """For the schemes it names; ftp is off otherwise: its handler would connect wherever a server says."""
    settings = with_addon({"DOWNLOAD_HANDLERS": {"https": None, "ftp": FTPDownloadHandler}})
    assert settings["DOWNLOAD_HANDLERS"]["https"] is None
    assert settings["DOWNLOAD_HANDLERS"]["ftp"] is FTPDownloadHandler
    assert load_object(settings["DOWNLOAD_HANDLERS"]["http"]) is FrontierDownloadHandler
    assert with_addon({})["DOWNLOAD_HANDLERS"]["ftp"] is None


@pytest.mark.parametrize("key", ["crawlproject.middlewares.admission.PolitenessMiddleware", PolitenessMiddleware])
@pytest.mark.parametrize("order", [42, None])
def test_middleware_orders_of_the_project_win(key: Any, order: int | None, caplog: pytest.LogCaptureFixture) -> None:
    """By path or by class, also None to switch one off, and none is there twice."""
    settings = with_addon({"DOWNLOADER_MIDDLEWARES": {key: order}})
    found = settings.get_component_priority_dict_with_base("DOWNLOADER_MIDDLEWARES")
    orders = {load_object(component): number for component, number in found.items()}
    assert orders.get(PolitenessMiddleware) == order
    assert AdmissionMiddleware in orders
    assert ServerTimingMiddleware in orders
    assert "same object" not in caplog.text


@pytest.mark.parametrize(
    "stock", [HttpCompressionMiddleware, RedirectMiddleware, MetaRefreshMiddleware, RobotsTxtMiddleware]
)
@pytest.mark.parametrize("by_path", [True, False])
def test_middleware_that_the_project_switched_off_stays_off(stock: type, by_path: bool) -> None:
    """A middleware of Scrapy's set to None has no successor here either."""
    key = global_object_name(stock) if by_path else stock
    found = components(with_addon({"DOWNLOADER_MIDDLEWARES": {key: None}}), "DOWNLOADER_MIDDLEWARES")
    assert not [component for component in found if issubclass(component, stock)]


def test_settings_of_the_project_are_left_as_they_are() -> None:
    """The project's own dicts are not written to."""
    handlers: dict[str, Any] = {"https": None}
    stats = "scrapy.downloadermiddlewares.stats.DownloaderStats"
    middlewares: dict[str, Any] = {stats: 5}
    with_addon({"DOWNLOAD_HANDLERS": handlers, "DOWNLOADER_MIDDLEWARES": middlewares})
    assert handlers == {"https": None}
    assert middlewares == {stats: 5}


def downloader(settings: Settings) -> Any:
    """Of a crawl with ``settings``."""
    crawler = get_crawler()
    crawler.settings = settings
    made = load_object(settings["DOWNLOADER"])(crawler)
    made.close()
    return made


def delay_and_jitter(settings: Settings) -> tuple[float, float]:
    """Of the downloader's slots for hosts that have none in ``DOWNLOAD_SLOTS``."""
    made = downloader(settings)
    return made._delay, made._jitter


def test_default_concurrency_of_scrapy_is_no_limit() -> None:
    """Yet the setting is as it was: scrapy-playwright would open no page with 0."""
    settings = with_addon({})
    assert downloader(settings).total_concurrency == 0
    assert settings.getint("CONCURRENT_REQUESTS") == Settings().getint("CONCURRENT_REQUESTS")
    assert downloader(with_addon({"DOWNLOADER": "scrapy.core.downloader.Downloader"})).total_concurrency == 0
    assert downloader(with_addon({"CONCURRENT_REQUESTS": 7})).total_concurrency == 7


@pytest.mark.parametrize("priority", ["project", "spider", "cmdline"])
def test_download_delay_is_taken_over(priority: str) -> None:
    """It becomes the frontier's, so that no connection is held while waiting; the setting is as it was."""
    settings = with_addon({"DOWNLOAD_DELAY": "1.5"}, priority)
    assert settings.getfloat("FRONTIER_REQUEST_DELAY") == 1.5
    assert settings["DOWNLOAD_DELAY"] == "1.5"
    assert delay_and_jitter(settings) == (0, 0)


@pytest.mark.parametrize("jitter", [0.2, 0])
def test_jitter_of_the_project_holds(jitter: float) -> None:
    """For the delays that are left to the downloader: those of slots."""
    assert delay_and_jitter(with_addon({"DOWNLOAD_DELAY": 1, "DOWNLOAD_DELAY_JITTER": jitter})) == (0, jitter)


def test_limits_stay_with_a_scheduler_of_the_project() -> None:
    """Under another scheduler there is no frontier that could keep them."""
    settings = with_addon({"SCHEDULER": STOCK_SCHEDULER, "DOWNLOAD_DELAY": 1.5})
    for name in ("DOWNLOADER", "DUPEFILTER_CLASS"):
        assert settings[name] == Settings()[name]
    assert settings.getfloat("DOWNLOAD_DELAY") == 1.5
    assert settings.getint("CONCURRENT_REQUESTS") == Settings().getint("CONCURRENT_REQUESTS")


@pytest.mark.parametrize(("name", "value"), [("delay", "long"), ("concurrency", 0)])
def test_a_wrong_value_of_a_slot_stops_the_start(name: str, value: object) -> None:
    """With the slot and the value."""
    with pytest.raises(ValueError, match=re.escape(f"DOWNLOAD_SLOTS['a.example']: {name}={value!r}")):
        get_crawler(settings_dict={"ADDONS": ADDONS, "DOWNLOAD_SLOTS": {"a.example": {name: value}}})


def test_before_the_crawl_there_is_no_engine() -> None:
    """Scrapy's ``crawler.engine`` raises then; the components of this project answer."""
    crawler = get_crawler(settings_dict={"ADDONS": ADDONS})
    assert engine_of(crawler) is None
    assert frontier_of(crawler) is None
    assert not unfinished_requests(crawler)
    EngineAlarm(crawler).ring()


def test_deprecated_settings_of_scrapy_are_not_read() -> None:
    """A look at a setting's name does not warn of Scrapy's own default for it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_names(Settings({"CONCURRENT_REQUESTS_PER_IP": 1}))
