"""The names by which files and pages may address the crawler."""

import pytest
from scrapy.settings import Settings

from crawlproject.options.limits import RobotsOptions


@pytest.mark.parametrize(
    ("settings", "names"),
    [
        ({}, {"scrapy"}),
        ({"USER_AGENT": "ExampleBot/2.1 (+https://example.org/bot)"}, {"examplebot"}),
        ({"USER_AGENT": "Other/1", "ROBOTSTXT_USER_AGENT": "ExampleBot"}, {"examplebot"}),
        ({"USER_AGENT": "Mozilla/5.0 (compatible; ExampleBot)"}, {"mozilla", "compatible", "examplebot"}),
        ({"USER_AGENT": None}, set()),
    ],
)
def test_names_are_those_of_the_user_agent(settings: dict[str, str | None], names: set[str]) -> None:
    """``ROBOTSTXT_USER_AGENT`` wins; versions and addresses are not names."""
    found = RobotsOptions.from_settings(Settings(settings)).names
    assert names <= found
    assert not found & {"2.1", "1", "other", "5.0", "example.org"}
