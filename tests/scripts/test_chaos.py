"""A small crawl that is broken."""

from argparse import Namespace
from pathlib import Path
from typing import Any

import pytest

from scripts.chaos import DEFAULTS, chaos_crawl
from tests.crawl.workers import fork


def arguments(**changes: Any) -> Namespace:
    return Namespace(**{**DEFAULTS, "pages": 1000, **changes})


@pytest.mark.long
def test_small_crawl_loses_no_page(redis_program: Path, tmp_path: Path) -> None:
    """Two workers, one of which is killed and replaced, and Redis, which is killed and started again."""
    chosen = {"workers": 2, "servers": 12, "pages": 120, "kill": 1, "pause": 0, "redis_kill": 1, "away": 0.0}
    outcome = chaos_crawl(arguments(**chosen), tmp_path, fork)
    table = dict(outcome.rows())
    assert table["faults"] == "kill 1, redis-kill 1"
    assert table["pages fetched"] == "120 of 120"
    assert outcome.is_right(), table
