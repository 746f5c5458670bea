"""What tests of several folders share."""

import gc
import logging
import os
import shutil
import sys
from collections.abc import Generator, Iterator
from itertools import groupby
from pathlib import Path

import pytest
import scrapy

if scrapy.version_info < (2, 15):  # whoever asks for a reactor first would get another one
    from twisted.internet import asyncioreactor

    asyncioreactor.install()

import scrapy.core.downloader.handlers.http11
from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import none
from scrapy.utils.log import _uninstall_scrapy_root_handler

from crawlproject.commands.private_redis import PrivateRedisError, find_server
from testbed.children import free_port
from testbed.real_web import SMALL_PACKAGES, RealWebError, setup
from testbed.real_web.web import RealWeb
from testbed.redis_server import RunningRedis
from testbed.web import process as web_process
from tests.processes import Piped, share_server
from tests.waiting import alarm

# Or each process of the tests compiles all modules and rewrites all asserts once more: half of the time of collecting.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# ``scrapy`` imports the commands of all packages before any of its own; that of scrapy-poet, which few users have,
# imports pytest: a quarter of the CPU time of a small crawl. ``test_package.py`` runs with it.
os.environ["PYTHONPATH"] = str(Path(__file__).with_name("hidden"))
sys.modules["matplotlib"] = None  # type: ignore[assignment]  # hidden there as well

# The emulated web needs 0.02 s of CPU to start instead of 0.15.
web_process.START = Piped

# Half of the CPU time of collecting went to looking for garbage among thousands of tests and modules, which is none.
gc.disable()

# The same examples in every run, and not many; ``scripts/explore`` looks at others.
COMMON = settings(deadline=None, database=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.register_profile("quick", COMMON, derandomize=True, max_examples=40)
settings.register_profile("explore", COMMON, max_examples=400)
settings.load_profile("quick")


def pytest_configure(config: pytest.Config) -> None:
    """The processes of pytest-xdist, which this one starts, share one server of forks."""
    if config.getoption("numprocesses", None) and not hasattr(config, "workerinput"):
        share_server()


def _nothing(_: None) -> None: ...


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What has been imported and collected stays until the end."""
    # Hypothesis registers its random numbers with the first example, and warns unless the garbage collector finds what
    # refers to them. It does not look into what is frozen; up to Python 3.13 this did not matter.
    given(none())(_nothing)()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What needs nginx and the network is not for every run."""
    for item in items:
        if "small_web" in getattr(item, "fixturenames", ()):
            item.add_marker("long")
    items[:] = spread(items)


#: Modules that take longest, 4 to 25 s of CPU each: first, or one process would still run one of them at the end.
LONGEST = (
    "test_package.py",
    "workers/test_protocol_model.py",
    "crawl/test_workers.py",
    "crawl/test_lane_kinds.py",
    "crawl/test_resume.py",
    "test_readme.py",
    "test_deploy.py",
    "crawl/test_workers_bad_input.py",
    "frontier/test_guard_sites.py",
    "test_regular_expressions.py",
    "test_site.py",
    "crawl/test_console.py",
    "crawl/test_several.py",
    "crawl/test_start_urls.py",
    "crawl/test_repository.py",
    "crawl/test_local_web.py",
    "crawl/test_lane_cases.py",
    "crawl/test_as_browsers.py",
    "spiders/test_topic.py",
    "crawl/test_trap_sites.py",
    "crawl/test_traps.py",
    "commands/test_frontier_redis.py",
    "commands/test_workers.py",
)
#: Folders whose tests mostly wait, for processes and servers that they start: early, the others fill the end.
WAITING = {"tests", "commands", "crawl", "rendering", "scripts", "scrapy_suite", "workers"}


def spread(items: list[pytest.Item]) -> list[pytest.Item]:
    """The longest modules first, then every second one of those that mostly wait, so that all CPUs are busy."""
    modules = [list(module) for _, module in groupby(items, key=lambda item: item.path)]
    places = {Path(__file__).parent / name: place - len(LONGEST) for place, name in enumerate(LONGEST)}
    counts: dict[bool, int] = {True: 0, False: 0}

    def place(module: list[pytest.Item]) -> float:
        path, waits = module[0].path, module[0].path.parent.name in WAITING
        counts[waits] += path not in places
        return places.get(path, counts[waits])

    return [test for module in sorted(modules, key=place) for test in module]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    """A test that hangs fails, in its fixtures as well, and the others go on."""
    with alarm(item.nodeid):
        yield


pytest_runtest_call = pytest_runtest_teardown = pytest_runtest_setup


@pytest.fixture
def no_collection() -> Iterator[None]:
    """For deep recursions: at their bottom, finalizers of what earlier tests have left would fail."""
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(autouse=True)
def root_logger() -> Iterator[None]:
    """A Scrapy command that a test runs in this process logs to that test's stream only."""
    root = logging.getLogger()
    level = root.level
    yield
    _uninstall_scrapy_root_handler()
    root.setLevel(level)


@pytest.fixture(autouse=True)
def own_token() -> Iterator[None]:
    """The token that ``scrapy workers`` puts into the environment for its workers is that of one test."""
    yield
    os.environ.pop("CRAWLPROJECT_TOKEN", None)


@pytest.fixture(scope="session")
def small_web(tmp_path_factory: pytest.TempPathFactory) -> RealWeb:
    """The small set, set up and not started."""
    for program in ("nginx", "apt-get", "dpkg-deb"):
        if shutil.which(program, path="/usr/sbin:/usr/bin:/sbin:/bin") is None:
            pytest.skip(f"{program} is not installed")
    try:
        return setup(tmp_path_factory.mktemp("realweb") / "web", SMALL_PACKAGES, free_port("127.2.0.1"))
    except RealWebError as error:
        if str(error).startswith("apt-get"):
            pytest.skip(f"the documentation packages cannot be downloaded: {error}")
        raise


@pytest.fixture(scope="session")
def redis_program() -> Path:
    try:
        return Path(find_server())
    except PrivateRedisError as error:
        pytest.skip(str(error))


@pytest.fixture
def redis_server(redis_program: Path) -> Iterator[RunningRedis]:
    """An empty Redis server for one test, without append-only file."""
    with RunningRedis(program=redis_program) as server:
        yield server
