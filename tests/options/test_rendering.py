"""Wrong settings ``FRONTIER_RENDER*`` are refused at the start, by name."""

from typing import Any

import pytest
from scrapy.settings import Settings

from crawlproject.options.rendering import RenderOptions


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"FRONTIER_RENDER": "sometimes"}, "FRONTIER_RENDER='sometimes': must be one of never, auto, always"),
        ({"FRONTIER_RENDER_PAGES": 0}, "FRONTIER_RENDER_PAGES=0: must be a whole number >= 1"),
        ({"FRONTIER_RENDER_TIMEOUT": 0}, "FRONTIER_RENDER_TIMEOUT=0: must be above 0"),
        ({"FRONTIER_RENDER_QUIET": -1}, "FRONTIER_RENDER_QUIET=-1: must be a number >= 0"),
        ({"FRONTIER_RENDER_MAX_MEMORY": 1000}, "FRONTIER_RENDER_MAX_MEMORY=1000: must be a whole number >= 200000000"),
        ({"PLAYWRIGHT_LAUNCH_OPTIONS": "x"}, "PLAYWRIGHT_LAUNCH_OPTIONS='x': must be a dict"),
        (
            {"PLAYWRIGHT_LAUNCH_OPTIONS": {"args": "--x"}},
            "PLAYWRIGHT_LAUNCH_OPTIONS={'args': '--x'}: must be with a list",
        ),
        (
            {"PLAYWRIGHT_LAUNCH_OPTIONS": {"args": ["--no-proxy-server"]}},
            "PLAYWRIGHT_LAUNCH_OPTIONS={'args': ['--no-proxy-server']}: must be without proxy",
        ),
        (
            {"PLAYWRIGHT_LAUNCH_OPTIONS": {"proxy": {}}},
            "PLAYWRIGHT_LAUNCH_OPTIONS={'proxy': {}}: must be without proxy",
        ),
    ],
)
def test_wrong_values_are_refused(settings: dict[str, Any], message: str) -> None:
    """In one line."""
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the message is compared below
        RenderOptions.from_settings(Settings(settings))
    assert str(error.value).startswith(message)


def test_settings_are_read_as_text_too() -> None:
    """The command line gives every value as text."""
    given = {"FRONTIER_RENDER_PAGES": "2", "PLAYWRIGHT_LAUNCH_OPTIONS": '{"args": ["--x"]}'}
    options = RenderOptions.from_settings(Settings(given))
    assert options.pages == 2
    assert options.launch_options == {"args": ["--x"]}
