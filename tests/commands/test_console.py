"""What ``scrapy console`` prints."""

from __future__ import annotations

import json

from crawlproject.commands.console import _shown


def test_strangers_text_does_not_steer_the_terminal() -> None:
    """It is printed as JSON that says the same; other words can be read."""
    text = "\x1b[2J \x9b31m \x7f \u202e \u2066 \ud800 标题 é 😀"
    shown = _shown({"error": text})
    assert json.loads(shown) == {"error": text}
    assert "标题 é 😀" in shown
    assert not any(char in shown for char in text.replace("标题 é 😀", "").replace(" ", "") if not char.isascii())
    assert "\x1b" not in shown
    assert "\x7f" not in shown
