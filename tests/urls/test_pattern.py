"""The common pattern of a family of URLs."""

import pytest
from hypothesis import given

from crawlproject.urls import Canonicalizer
from crawlproject.urls.pattern import folder_of, pattern_of, script_of
from tests.urls.conftest import PROPERTY, url_like

PATTERNS = {
    "/": None,
    "/about/people": None,
    "/p12.html": "/p#.html",
    "/d3/P12.html": "/d#/p#.html",
    "/item/123": "/item/#",
    "/item/123/5/": "/item/#",
    "/f/a3f09c2b7d/x": "/f/#/x",
    "/f/deadbeef/x": None,
    "/f/3F2504E0-4f89-41d3-bead-0305e82c3301/x": "/f/#/x",
    "/calendar/2003/01/": "/calendar/@",
    "/calendar/2003/01/31": "/calendar/@@",
    "/calendar/2003-01": "/calendar/@",
    "/2003/01/31/title": "/#/title",
    "/diary/day.php?year=2003&month=1&day=31": "/diary/?@",
    "/diary/month.php?month=1&year=2003": "/diary/?@",
    "/diary/month.php?month=1&year=2003&room=4": "/diary/month.php?@&room",
    "/bin/edit/Main/User?t=1;nowysiwyg=1": "/bin/edit/*?nowysiwyg&t",
    "/bin/edit/Sandbox?nowysiwyg=0;t=2": "/bin/edit/*?nowysiwyg&t",
    "/list?page=2": "/list?page",
}


@pytest.mark.parametrize("path", PATTERNS)
def test_pattern(path: str) -> None:
    """Numbers, dates and values are replaced."""
    assert pattern_of(f"http://h.example{path}") == PATTERNS[path]


@pytest.mark.parametrize(
    ("path", "folder"), [("/", "/*"), ("/about", "/*"), ("/wiki/", "/*"), ("/Wiki/Abc", "/wiki/*"), ("/a/b/c/", "/a/*")]
)
def test_folders(path: str, folder: str) -> None:
    """The first one, if anything is in it."""
    assert folder_of(f"http://h.example{path}") == folder


def test_scripts() -> None:
    """Patterns with parameters belong to one script, except for dates."""
    names = ["/shop?page", "/shop?page&sort", "/bin/edit/*?t", "/item/#", "/diary/?@", "/diary/d?@&room", "/?p"]
    assert [script_of(name) for name in names] == ["/shop?", "/shop?", "/bin/edit/*?", None, None, "/diary/d?", "/?"]


@PROPERTY
@given(url_like())
def test_every_canonical_url_has_a_short_pattern(text: str) -> None:
    """Or None; never an exception."""
    url = Canonicalizer().canonical(text)
    if url is not None:
        assert len(pattern_of(url) or "") <= 120
