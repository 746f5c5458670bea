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
os.environ["PYTHONPATH"] = str(Path(__file__).with_name("without_scrapy_poet"))

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


#: Folders whose tests mostly wait, for processes and servers that they start.
WAITING = {"tests", "commands", "crawl", "rendering", "scripts", "scrapy_suite", "workers"}
#: Modules that take longest, 4 to 30 s of CPU each: first, or one process would still run one of them at the end.
LONGEST = (
    "crawl/test_lane_kinds.py",
    "workers/test_protocol_model.py",
    "test_package.py",
    "crawl/test_resume.py",
    "crawl/test_workers.py",
    "test_readme.py",
    "test_deploy.py",
    "crawl/test_trap_sites.py",
    "crawl/test_traps.py",
    "spiders/test_topic.py",
    "crawl/test_workers_bad_input.py",
    "crawl/test_console.py",
    "crawl/test_lane_cases.py",
    "frontier/test_guard_sites.py",
    "test_regular_expressions.py",
    "crawl/test_fast_lane.py",
    "simulation/test_synthetic.py",
    "simulation/test_budgets.py",
    "crawl/test_start_urls.py",
    "middlewares/test_robots_rules.py",
    "crawl/test_local_web.py",
    "crawl/test_recrawl.py",
    "commands/test_commands.py",
    "commands/test_frontier_redis.py",
    "commands/test_workers.py",
    "workers/test_late_orders.py",
    "urls/test_parse_budget.py",
)


def spread(items: list[pytest.Item]) -> list[pytest.Item]:
    """The longest modules first, then modules that mostly wait evenly among the others, so that all CPUs are busy.

    At the end only others. Scrapy's own tests are one module; they are spread one by one.
    """
    placed: list[tuple[float, list[pytest.Item]]] = []
    modules = [list(module) for _, module in groupby(items, key=lambda item: item.path)]
    names = {Path(__file__).parent / name: place - len(LONGEST) for place, name in enumerate(LONGEST)}
    placed += [(names[tests[0].path], tests) for tests in modules if tests[0].path in names]
    modules = [tests for tests in modules if tests[0].path not in names]
    waiting = [tests for tests in modules if tests[0].path.parent.name in WAITING]
    single = [[test] for tests in waiting if tests[0].path.parent.name == "scrapy_suite" for test in tests]
    waiting = [tests for tests in waiting if tests[0].path.parent.name != "scrapy_suite"]
    others = [tests for tests in modules if tests[0].path.parent.name not in WAITING]
    for group, end in ((waiting, 0.8), (single, 0.9), (others, 1.0)):
        placed += [(end * number / len(group), tests) for number, tests in enumerate(group)]
    return [test for _, tests in sorted(placed, key=lambda each: each[0]) for test in tests]


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
