"""The description of a web."""

from __future__ import annotations

import pytest

from testbed.web import WebSpec


def test_json_may_leave_fields_out() -> None:
    """Fields that are not given keep their default."""
    assert WebSpec.from_json('{"servers": 7}') == WebSpec(servers=7)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"hosts": 3}', "unknown field of a spec: hosts"),
        ('{"servers": "3"}', "servers = '3': must be of type int"),
        ('{"servers": true}', "servers = True: must be of type int"),
        ("[3]", "--spec: a JSON object"),
        ("{", "Expecting property name"),
    ],
)
def test_json_that_is_no_spec_is_refused(text: str, message: str) -> None:
    """The error names what is wrong."""
    with pytest.raises(ValueError, match=message):
        WebSpec.from_json(text)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("servers", 0),
        ("pages", 49),
        ("seed_count", 0),
        ("port", 65536),
        ("quality", "cash"),
        ("time_scale", -1.0),
        ("idle_timeout", 0.0),
        ("dead_share", 1.0),
        ("session_share", 1.1),
        ("redirect_share", 0.95),
        ("first_address", "10.0.0.1"),
        ("first_address", "127.255.255.250"),
        ("first_address", "localhost"),
    ],
)
def test_senseless_value_is_refused(field: str, value: object) -> None:
    """The error names the field and its value."""
    with pytest.raises(ValueError, match=f"{field} = {value!r}"):
        WebSpec.from_values({field: value})
