"""What a worker says while it may take nothing."""

from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from crawlproject.workers import shares
from crawlproject.workers.control import Beat
from crawlproject.workers.shares import Shares


def test_a_long_wait_for_workers_that_have_not_noticed_a_loss_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    """With the names of those; and again after the next loss."""
    options = SimpleNamespace(partitions=8, lease=15.0, download_timeout=180.0)
    fields = dict.fromkeys(("control", "local", "outbox", "crawl", "parts"))
    holdings: Any = SimpleNamespace(options=options, **fields)
    with mock.patch.object(shares, "boot_time") as clock:
        clock.return_value = 1000.0
        made: Any = Shares(holdings, mock.Mock(), mock.AsyncMock())

        def wait(seconds: int, run: str) -> None:
            for _ in range(seconds):
                clock.return_value += 1.0
                members = {"one": {"run": "new"}, "other": {"run": run}}
                made._log_waiting(Beat("ok", now=clock.return_value, members=members, run_id="new"))

        wait(30, "old")
        assert not caplog.records
        wait(60, "old")
        (record,) = caplog.records
        assert record.getMessage().endswith("not all of the 2 workers have known that for a lease: other")
        wait(5, "new")
        wait(60, "old")
        assert len(caplog.records) == 2
