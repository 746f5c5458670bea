"""The description of a web."""

import pytest

from testbed.web import WebSpec


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
