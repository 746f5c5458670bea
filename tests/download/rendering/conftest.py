"""What the tests of rendering need."""

from __future__ import annotations

import shutil

import pytest
from scrapy.utils.test import get_crawler

from crawlproject.options.rendering import PROGRAMS, RenderOptions

#: Builds of Chromium with and without windows: what is right for one need not be for the other.
BUILDS = ("chromium", "chromium-headless-shell")
assert set(BUILDS) <= set(PROGRAMS)


@pytest.fixture(scope="session", params=BUILDS)
def build(request: pytest.FixtureRequest) -> str:
    """The path of each build; skips those that are not installed."""
    program = shutil.which(request.param)
    if program is None:
        pytest.skip(f"{request.param} is not installed: apt-get install {request.param}")
    return program


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of Chromium; skips where there is none."""
    program = RenderOptions.of(get_crawler()).program()
    if program is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    return program
