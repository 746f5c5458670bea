"""``meta["render"]``: modes and steps."""

from typing import Any

import pytest

from crawlproject.download.rendering.steps import MAX_STEPS, Step, Wish, wish

MORE = Step("click", "#more > a")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, Wish()),
        (True, Wish("always")),
        (False, Wish("never")),
        ("auto", Wish("auto")),
        ([], Wish("always")),
        (["click #more > a", "scroll"], Wish("always", (MORE, Step("scroll", times=10)))),
        (["scroll 3", "wait .item"], Wish("always", (Step("scroll", times=3), Step("wait", ".item")))),
        ({"mode": "auto", "steps": ["click #more > a"]}, Wish("auto", (MORE,))),
        ({"steps": ["click #more > a"]}, Wish("always", (MORE,))),
        ({}, Wish()),
        (["scroll 999"], Wish("always", (Step("scroll", times=100),))),
    ],
)
def test_meaning(value: Any, expected: Wish) -> None:
    """Of each form."""
    assert wish(value) == expected


@pytest.mark.parametrize(
    "value",
    [
        "yes",
        1.5,
        ["jump"],
        ["click"],
        ["click "],
        [1],
        ["scroll -1"],
        ["wait " + "x" * 2000],
        ["scroll"] * (MAX_STEPS + 1),
        {"step": []},
        {"mode": "sometimes"},
        {"mode": {"mode": "x"}},
        {"steps": "scroll"},
    ],
)
def test_anything_else_is_refused(value: Any) -> None:
    """In one line that shows it."""
    with pytest.raises(ValueError, match=r"^render.*: must be") as error:
        wish(value)
    assert len(str(error.value).splitlines()) == 1
