"""What ``scrapy console`` prints."""

import json

import pytest

from crawlproject.commands.console import _ask, _shown
from testbed.children import free_port


def test_strangers_text_does_not_steer_the_terminal() -> None:
    """It is printed as JSON that says the same; other words can be read."""
    text = "\x1b[2J \x9b31m \x7f \u202e \u2066 \ud800 标题 é 😀"
    shown = _shown({"error": text})
    assert json.loads(shown) == {"error": text}
    assert "标题 é 😀" in shown
    assert not any(char in shown for char in text.replace("标题 é 😀", "").replace(" ", "") if not char.isascii())
    assert "\x1b" not in shown
    assert "\x7f" not in shown


def test_a_console_that_does_not_answer_is_named() -> None:
    """With the reason, without the names of Python's errors."""
    url = f"http://127.0.0.1:{free_port()}/"
    with pytest.raises(OSError, match=f"^{url}: no console answers there: .*[Cc]onnection refused") as caught:
        _ask(url, "t", "status", None)
    assert "urlopen" not in str(caught.value)
