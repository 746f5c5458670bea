"""The names of keys, and their hash tags."""

import re

import pytest

from crawlproject.workers.keys import Keys


def tag(key: str) -> str:
    """What Redis Cluster hashes of ``key``: between the first { and the next }."""
    found = re.search(r"\{([^}]+)\}", key)
    assert found
    return found[1]


def test_names() -> None:
    keys = Keys("web")
    assert [keys.meta, keys.workers, keys.dead, keys.info] == [
        "{web}:meta",
        "{web}:workers",
        "{web}:dead",
        "{web}:info",
    ]
    assert [keys.m(7), keys.j(7), keys.i(7)] == ["{web:7}:m", "{web:7}:j", "{web:7}:i"]
    assert [keys.s(7, 2), keys.f(7, 2)] == ["{web:7}:s:2", "{web:7}:f:2"]


def test_keys_of_a_partition_are_on_one_node() -> None:
    keys = Keys("web")
    assert {tag(key) for key in (keys.m(7), keys.j(7), keys.i(7), keys.s(7, 1), keys.f(7, 1))} == {"web:7"}
    assert {tag(key) for key in (keys.meta, keys.workers, keys.dead, keys.info)} == {"web"}


@pytest.mark.parametrize("name", ["", "a{b", "a}b"])
def test_names_that_break_the_hash_tag(name: str) -> None:
    with pytest.raises(ValueError, match="braces"):
        Keys(name)
