"""Shared by the URL tests: the folder of published test vectors, and URL-like texts."""

from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st

from tests.data import vector

PROPERTY = settings(deadline=None, max_examples=100)  # for @given: a busy machine is no failure

_TOKENS = [
    *("http://", "https://", "HTTP:", "//", "/", "\\", "mailto:", "ftp://h/", "file:///x", "data:,", "javascript:"),
    *("h.org", "H.ORG", "h.org.", "..", ".", "1.2.3.4", "0x7f.1", "[::1]", "xn--", "bücher.de", "u:p@", ":80", ":8080"),
    *("./", "../", "%2e", "%2E%2E", "%41", "%7e", "%c3%A9", "%", "%4", "a", "B", "index.html", "-_~", "!$'()*,"),
    *("?", "&", "=", "#", ";", "utm_source=x", "sid=", "abcdef1234567890", ";jsessionid=1F", "PHPSESSID=1", "?&"),
    *(" ", "\t", "\n", "\0", "\x7f", "\ud800", "☃", "[]", "|^`{}", "<'\">", "+"),
]


def url_like() -> st.SearchStrategy[str]:
    """Texts that are mostly nearly URLs, and sometimes anything."""
    pieces = st.lists(st.sampled_from(_TOKENS), max_size=10).map("".join)
    anything = st.text(st.characters(exclude_categories=()), max_size=40)
    return st.one_of(pieces, pieces.map("http://".__add__), pieces.map("https://h.org/a/".__add__), anything)


@pytest.fixture
def url_vectors() -> Path:
    return vector("url")
