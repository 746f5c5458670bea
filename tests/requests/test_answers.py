"""What the headers of an answer ask for."""

import time
from email.utils import formatdate

import pytest
from scrapy.http import Headers, HtmlResponse

from crawlproject.requests.answers import is_unread, retry_after


@pytest.mark.parametrize("wrong", [-86_400.0, 0.0, 86_400.0])
def test_a_date_of_retry_after_counts_from_the_server_s_own_clock(wrong: float) -> None:
    """It differs from ours by a day: without that, the wait would be none, or a day longer."""
    now = 1_700_000_000.0 + wrong
    headers = Headers({"Date": formatdate(now, usegmt=True), "Retry-After": formatdate(now + 90, usegmt=True)})
    assert retry_after(headers) == 90.0


@pytest.mark.parametrize("date", [{}, {"Date": "today"}])
def test_without_a_date_it_counts_from_ours(date: dict[str, str]) -> None:
    headers = Headers({**date, "Retry-After": formatdate(time.time() + 3600, usegmt=True)})
    found = retry_after(headers)
    assert found is not None
    assert 0 < found <= 3601


def test_seconds_need_no_clock() -> None:
    assert retry_after(Headers({"Date": "today", "Retry-After": "7"})) == 7.0
    assert retry_after(Headers({})) is None


def test_a_page_cut_off_at_some_size_was_read() -> None:
    """A project's own ``StopDownload`` after some bytes has the flag of those stopped after their headers, too."""
    stopped = HtmlResponse("http://example.org/", flags=["download_stopped"])
    assert is_unread(stopped)
    assert not is_unread(stopped.replace(body=b"<p>the first part"))
    assert not is_unread(stopped.replace(flags=[]))
