"""The cache of results per URL."""

from crawlproject.urls.link_filter import KNOWN_URLS, MAX_LENGTH, remembering


def test_short_urls_are_asked_about_once_and_long_ones_each_time() -> None:
    """So that long URLs of strangers take no memory."""
    asked: list[str] = []

    def length(url: str) -> int:
        asked.append(url)
        return len(url)

    known = remembering(length)
    short, long = "x" * MAX_LENGTH, "x" * (MAX_LENGTH + 1)
    assert [known(url) for url in (short, short, long, long)] == [
        MAX_LENGTH,
        MAX_LENGTH,
        MAX_LENGTH + 1,
        MAX_LENGTH + 1,
    ]
    assert asked == [short, long, long]


def test_their_number_is_bounded() -> None:
    """The least recently used one is evicted."""
    asked: list[str] = []
    known = remembering(asked.append)
    for number in range(KNOWN_URLS + 1):
        known(str(number))
    known(str(KNOWN_URLS))
    assert len(asked) == KNOWN_URLS + 1
    known("0")
    assert asked[-1] == "0"
