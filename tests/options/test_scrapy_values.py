"""Values of Scrapy's own settings that it cannot read: the error names the setting, whatever the type."""

import pytest
from scrapy.settings import Settings

from crawlproject.options.scrapy_values import check_scrapy_values


@pytest.mark.parametrize("value", ["maybe", [], {}, float("inf")], ids=str)
def test_switch(value: object) -> None:
    with pytest.raises(ValueError, match=r"^COOKIES_ENABLED=.*: must be True or False$"):
        check_scrapy_values(Settings({"COOKIES_ENABLED": value}))


@pytest.mark.parametrize("value", ["often", [], {}, float("nan"), 10**400], ids=lambda value: str(value)[:9])
def test_number(value: object) -> None:
    with pytest.raises(ValueError, match=r"^RETRY_TIMES=.*: must be a number$"):
        check_scrapy_values(Settings({"RETRY_TIMES": value}))


def test_what_scrapy_reads() -> None:
    """Numbers and switches as texts; None."""
    check_scrapy_values(Settings({"RETRY_TIMES": "3", "COOKIES_ENABLED": "true", "DOWNLOAD_DELAY": None}))
    check_scrapy_values(Settings({"COOKIES_ENABLED": None, "ROBOTSTXT_OBEY": 0}))
