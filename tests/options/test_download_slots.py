"""``DOWNLOAD_SLOTS``: hosts in every spelling."""

import pytest
from scrapy.settings import Settings

from crawlproject.options.scheduling import FrontierOptions


@pytest.mark.parametrize(
    ("typed", "covered", "others"),
    [
        ("H.TEST", ["http://h.test", "https://h.test:8080"], ["http://www.h.test"]),
        ("h.test.", ["http://h.test"], ["http://www.h.test"]),
        ("h.test:80", ["http://h.test"], ["https://h.test"]),
        ("https://h.test/", ["https://h.test"], ["http://h.test"]),
        ("münchen.test", ["http://xn--mnchen-3ya.test"], ["http://munchen.test"]),
        (".h.test", ["http://h.test", "http://a.www.h.test"], ["http://xh.test"]),
        ("*.H.test", ["http://h.test", "https://www.h.test:81"], ["http://test"]),
    ],
)
def test_a_host_has_its_delay_however_it_is_typed(typed: str, covered: list[str], others: list[str]) -> None:
    """A domain's subdomains have it if the name begins with a dot, or ``*.``."""
    options = FrontierOptions.from_settings(Settings({"DOWNLOAD_SLOTS": {typed: {"delay": 7}}}))
    servers = options.new_frontier().servers
    delays = [servers.politeness_of(servers.get_or_add(key)).request_delay for key in (*covered, *others)]
    assert delays == [7.0] * len(covered) + [0.0] * len(others)
