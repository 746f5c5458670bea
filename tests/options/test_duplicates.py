"""The settings of duplicates: wrong ones are refused by name, with the value and what is allowed."""

import pytest
from scrapy.settings import Settings

from crawlproject.options.duplicates import DuplicateOptions


def test_without_settings_the_defaults_hold() -> None:
    """Without settings all is on."""
    expected = DuplicateOptions(exact=True, near=True, follow="near", threshold=0.95, near_pages=65_536)
    assert DuplicateOptions.from_settings(Settings()) == expected


def test_settings_are_read_as_text_too() -> None:
    """The command line gives every value as text."""
    settings = Settings({"DUPLICATES_EXACT": "False", "DUPLICATES_THRESHOLD": "0.9", "DUPLICATES_NEAR": "1"})
    options = DuplicateOptions.from_settings(settings)
    assert (options.exact, options.near, options.threshold) == (False, True, 0.9)


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("DUPLICATES_EXACT", "maybe", "True or False"),
        ("DUPLICATES_NEAR", 2, "True or False"),
        ("DUPLICATES_FOLLOW", "exact", "none, near, all"),
        ("DUPLICATES_THRESHOLD", 0, "above 0 and at most 1"),
        ("DUPLICATES_THRESHOLD", "95%", "number"),
        ("DUPLICATES_THRESHOLD", 95, "above 0 and at most 1"),
        ("DUPLICATES_NEAR_PAGES", 0, "whole number >= 1"),
    ],
)
def test_wrong_values_are_refused(name: str, value: object, allowed: str) -> None:
    """By name, value and choices."""
    with pytest.raises(ValueError, match=rf"^{name}={value!r}: .*{allowed}"):
        DuplicateOptions.from_settings(Settings({name: value}))
