"""Servers of databases for the tests of a module."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from testbed.mariadb_server import NO_SERVER as NO_MARIADB
from testbed.mariadb_server import RunningMariadb, find_mariadb
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


@pytest.fixture(scope="module")
def mariadb() -> Iterator[RunningMariadb]:
    """Running; the tests of a module share it."""
    if find_mariadb() is None:
        pytest.skip(NO_MARIADB)
    with RunningMariadb() as server:
        yield server
