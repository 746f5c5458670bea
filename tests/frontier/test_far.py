"""Addresses that no finite site has, and what the pages there tell."""

from __future__ import annotations

import pytest

from crawlproject.frontier.guard.far import DOWN, UP, End, Far, direction, end_of, far_addresses
from tests.cpu import cpu_seconds

SITE = "http://a.example"


@pytest.mark.parametrize(
    ("path", "other", "far"),
    [
        ("/calendar/2024/05/", "/calendar/2024/06/", ["/calendar/2091/05/"]),
        ("/calendar/2024/05/", "/calendar/2024/04/", ["/calendar/1873/05/"]),
        ("/2024-05-17.html", "/2024-05-18.html", ["/2091-05-17.html"]),
        ("/x?d=20240517", "/x?d=20240518", ["/x?d=20910517"]),
        ("/x?month=5&year=2024", "/x?month=6&year=2024", ["/x?month=5&year=2091"]),
        ("/day/137", "/day/138", ["/day/90001370"]),
        ("/view.php?id=12", "/view.php?id=13", ["/view.php?id=90000120"]),
        ("/season/2024/round/5", "/season/2024/round/6", ["/season/2024/round/90000050", "/season/2091/round/5"]),
        ("/item/8f3a9c12", "/item/77aa01bc", ["/item/70f6d4c9"]),
        ("/wiki/Abc.html", "/wiki/Def.html", ["/wiki/zqxcbazqx.html"]),
        ("/a/b/a/b/", "/a/b/a/b/a/b/", ["/a/b/a/b/a/b/a/b/a/b/"]),
        ("/s?q=foo", "/s?q=foo+bar", ["/s?q=zqxoofzqx"]),
        ("/files/a/", "/files/a/b/", ["/files/a/b/b/b/b/", "/files/a/zqxbzqx/"]),
    ],
)
def test_only_what_differs_is_changed(path: str, other: str, far: list[str]) -> None:
    """A year, a number, a hash, a name; a growing path grows on."""
    assert [each.url for each in far_addresses(SITE + path, SITE + other)] == [SITE + each for each in far]


@pytest.mark.parametrize("path", ["/", "/?", "/%zz", "/" + "a1/" * 600, "/?" + "a=1&" * 500, "/é/١٢", "/;;==&&"])
@pytest.mark.parametrize("other", ["/", "/x", "/1", "/" + "a1/" * 601, "/?a=2", "/é/١٣"])
def test_odd_addresses(path: str, other: str) -> None:
    """None raises, or takes long; what is asked is on the same server, and another address."""
    url, neighbour = SITE + path, SITE + other
    for far in far_addresses(url, neighbour):
        assert far.url.startswith(SITE + "/")
        assert far.url not in (url, neighbour)
    assert direction(url, neighbour) in (UP, DOWN, UP | DOWN)
    assert cpu_seconds(lambda: lambda: far_addresses(url, neighbour)) < 0.25


@pytest.mark.parametrize(
    ("links", "end"),
    [
        ([], End.FINITE),
        (["/day/4", "/"], End.FINITE),
        (["/day/90001371", "/"], End.ENDLESS),
        (["/day/88"], End.OPEN),
        (["/day/90001370"], End.FINITE),
        (["/login?next=/day/90001370"], End.FINITE),
    ],
)
def test_a_page_that_leads_on_is_endless(links: list[str], end: End) -> None:
    """Not one that names known pages, itself, or other kinds."""
    far = Far(f"{SITE}/day/90001370", ("90001",))
    known = {f"{SITE}/day/4", f"{SITE}/"}
    found = end_of(far, [SITE + link for link in links], lambda url: "/day/" in url[16:21], known.__contains__)
    assert found is end
