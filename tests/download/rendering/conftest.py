"""What the tests of rendering need."""

from __future__ import annotations

import pytest
from scrapy.utils.test import get_crawler

from crawlproject.options.rendering import RenderOptions


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of Chromium; skips where there is none."""
    program = RenderOptions.of(get_crawler()).program()
    if program is None:
        pytest.skip("Chromium is not installed: apt-get install chromium")
    return program
