"""The table of the keys of ``Request.meta`` has all of them, and no other."""

import re

from crawlproject.requests import meta

#: Values of keys, and what stands in the dict of ``RECRAWL``.
NO_KEYS = {"SENT", "REPLACED", "THIS_RUN"}


def test_the_table_has_all_keys() -> None:
    """Once each; no two keys have one name in ``meta``."""
    names = {name for name in vars(meta) if name.isupper()} - NO_KEYS
    assert meta.__doc__ is not None
    table = re.findall(r"^([A-Z_]+) ", meta.__doc__, re.MULTILINE)
    assert sorted(table) == sorted(names)
    assert len({getattr(meta, name) for name in names}) == len(names)


def test_what_one_run_means_is_a_key() -> None:
    """And nothing that a spider sets."""
    assert {meta.FOUND_ON, meta.ORIGIN, meta.RECORD, meta.SHARE, meta.TIMING} == meta.THIS_RUN
