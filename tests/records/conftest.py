"""A PostgreSQL server for the tests of a module."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from testbed.postgres_server import NO_SERVER, RunningPostgres, find_postgres

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def postgres() -> Iterator[RunningPostgres]:
    """Running; the tests of a module share it."""
    if find_postgres() is None:
        pytest.skip(NO_SERVER)
    with RunningPostgres() as server:
        yield server
