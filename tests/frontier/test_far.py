"""Addresses that no finite site has, and what the pages at them tell."""

import pytest

from crawlproject.frontier.guard.far import DOWN, FAR_YEARS, UP, End, Far, direction, end_of, far_addresses
from tests.cpu import cpu_seconds

SITE = "http://a.example"


@pytest.mark.parametrize(
    ("one", "other", "way", "far"),
    [
        ("/2026/05/", "/2026/06/", UP, ["/2091/05/"]),
        ("/2026/05/", "/2026/04/", DOWN, ["/1873/05/"]),
        ("/2026/12/", "/2027/01/", UP, ["/2091/12/"]),
        ("/e/20260501", "/e/20260502", UP, ["/e/20910501"]),
        ("/c?date=20260601", "/c?date=20260501", DOWN, ["/c?date=18730601"]),
        ("/p/5", "/p/6", UP | DOWN, ["/p/90000050"]),
        ("/q?page=2", "/q?page=3", UP | DOWN, ["/q?page=90000020"]),
        ("/x/3f2a9c1b", "/x/77b1aaee", UP | DOWN, ["/x/e0f6d7c4"]),
        ("/t/bears", "/t/wolves", UP | DOWN, ["/t/zqxsraebzqx"]),
        ("/a/b/", "/a/b/b/", UP | DOWN, ["/a/b/b/b/b/"]),
        ("/a/b", "/a/b/c", UP | DOWN, ["/a/b/c/c/c/c", "/a/b/zqxczqx"]),
    ],
)
def test_far_addresses(one: str, other: str, way: int, far: list[str]) -> None:
    """Far where two neighbours differ, in the direction in which the link leads."""
    assert direction(SITE + one, SITE + other) == way
    assert [each.url for each in far_addresses(SITE + one, SITE + other)] == [SITE + path for path in far]


def test_a_site_of_a_far_year_is_asked_for_another_one() -> None:
    """Its own pages are no evidence."""
    year = FAR_YEARS[UP]
    (far,) = far_addresses(f"{SITE}/{year}/05/", f"{SITE}/{year}/06/")
    assert str(year) not in far.url


@pytest.mark.parametrize(
    ("links", "known", "end"),
    [
        ([], [], End.FINITE),
        (["/p/90000050"], [], End.FINITE),  # to itself
        (["/other"], [], End.FINITE),
        (["/p/1"], ["/p/1"], End.FINITE),
        (["/p/1"], [], End.OPEN),
        (["/p/90000051"], [], End.ENDLESS),
        (["/p/1", "/p/90000049"], [], End.ENDLESS),
    ],
)
def test_what_a_page_at_a_far_address_tells(links: list[str], known: list[str], end: End) -> None:
    """It has no end if it leads to neighbours of the far address."""
    far = Far(SITE + "/p/90000050", ("90000",))
    found = end_of(
        far,
        [SITE + link for link in links],
        lambda url: url.startswith(SITE + "/p/"),
        lambda url: url in [SITE + each for each in known],
    )
    assert found is end


ODD = [
    *("", "http:", "http://h", "http://h/", "http://h/%", "http://h/%E4%", "http://h/?", "http://h/?=", "http://h//"),
    *("http://h/²/³", "http://h/٣/a", "http://h/\ud800", "http://h/" + "9" * 5_000, "http://h/" + "a1" * 2_500),
]


@pytest.mark.parametrize("one", ODD)
def test_odd_addresses_are_no_error(one: str) -> None:
    """Whatever the other one is."""
    for other in ODD:
        direction(one, other)
        assert len(far_addresses(one, other)) <= 2


@pytest.mark.parametrize("unit", ["2010-1/", "a/", "1/", "a1b2c3/", "%41", "20260501-", "a=1&", "9", "zz"])
def test_the_links_of_a_page_are_compared_in_bounded_time(unit: str) -> None:
    """For 200 addresses of 2,000 characters that differ at their ends."""
    start = (SITE + "/" + unit * 2_000)[:1_990]

    def compare() -> None:
        for number in range(200):
            direction(f"{start}/x/1", f"{start}/x/{number}")
        far_addresses(f"{start}/x/1", f"{start}/x/2")

    assert cpu_seconds(lambda: compare) < 0.25
