"""Seed lists as users write them."""

import pytest

from crawlproject.urls import BadSeed, Seed, read_seeds

GOOD = {
    "http://example.org/a": ("http://example.org/a", None),
    "https://Example.org\t0.75": ("https://example.org/", 0.75),
    "  http://h/a   3  \r\n": ("http://h/a", 3.0),
    "\ufeffhttp://h/ 1e-3": ("http://h/", 0.001),
    "example.org/path": ("http://example.org/path", None),
    "localhost:8080/a 2": ("http://localhost:8080/a", 2.0),
    "//h/a": ("http://h/a", None),
    "bücher.de": ("http://xn--bcher-kva.de/", None),
    "http://h/a#b": ("http://h/a", None),
}
BAD = {
    "mailto:a@h": "not an http or https URL",
    "ftp://h/": "not an http or https URL",
    "http://": "not an http or https URL",
    "http://h/ good": "the quality is not a number of at least 0",
    "http://h/ -1": "the quality is not a number of at least 0",
    "http://h/ nan": "the quality is not a number of at least 0",
    "http://h/ inf": "the quality is not a number of at least 0",
    "http://h/a b c": "more than a URL and its quality",
}


@pytest.mark.parametrize(("line", "expected"), GOOD.items())
def test_seed_is_read(line, expected):
    """A line gives a canonical URL and its quality."""
    assert list(read_seeds([line])) == [Seed(1, *expected)]


@pytest.mark.parametrize(("line", "reason"), BAD.items())
def test_bad_line_is_reported(line, reason):
    """With its number, its text and the reason."""
    assert list(read_seeds(["", line])) == [BadSeed(2, line, reason)]


@pytest.mark.parametrize(
    ("line", "had_user"),
    [
        ("http://user:pass@a.example/", True),
        ("user@a.example/x", True),
        ("http:\\\\user@a.example", True),
        ("http://a.example/@x", False),
        ("http://a.example?q=a@b", False),
        ("http://a.example#a@b", False),
    ],
)
def test_a_user_name_is_not_lost_in_silence(line: str, had_user: bool) -> None:
    """It is not sent; the spider says so."""
    (seed,) = read_seeds([line])
    assert isinstance(seed, Seed)
    assert "@" not in seed.url.partition("a.example")[0]
    assert seed.had_user == had_user
