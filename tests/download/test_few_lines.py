"""Log lines whose number strangers decide."""

import logging

import pytest

from crawlproject.download.few_lines import MAX_LINES, PERIOD, FewLines


def test_few_lines_a_minute_and_the_number_of_the_others(caplog: pytest.LogCaptureFixture) -> None:
    """The others are at DEBUG; the first line of the next minute says how many."""
    now = [5.0]
    caplog.set_level(logging.DEBUG)
    lines = FewLines(logging.getLogger("few"), clock=lambda: now[0])
    for number in range(1000):
        lines.log(logging.INFO, "%s is gone", number)
    now[0] += PERIOD
    lines.log(logging.INFO, "%s is gone", "one more")
    told = [record.getMessage() for record in caplog.records if record.levelno > logging.DEBUG]
    assert told[:-1] == [f"{number} is gone" for number in range(MAX_LINES)]
    assert told[-1] == f"one more is gone ({1000 - MAX_LINES} lines like this were left out before)"
    assert len(caplog.records) == 1001
