"""Parameters that identify a visit and not a page."""

import pytest

from crawlproject.urls.drop_params import DEFAULT_DROP_PARAMS, DropRules

RULES = DropRules.compile(DEFAULT_DROP_PARAMS)
SESSION = "cdc993a493e899bed04f4d0c8a462a03"

DROPPED = {
    "/a?utm_source=x&utm_medium=y": "/a",
    "/a?b=1&gclid=x&c=2": "/a?b=1&c=2",
    "/a?fbclid=x&b=1": "/a?b=1",
    "/a?UTM_Source=x&b=1": "/a?b=1",
    "/a?b=1&utm_nooverride": "/a?b=1",
    "/a?mc_cid=1&mc_eid=2&msclkid=3&dclid=4&b": "/a?b",
    f"/a?PHPSESSID={SESSION}&b=1": "/a?b=1",
    "/a?phpsessid=": "/a",
    "/a?ASPSESSIONIDQABCDEFG=XYZ&b=1": "/a?b=1",
    "/a?pk_campaign=x&pk_kwd=y&mtm_group=z&piwik_campaign=1&b=1": "/a?b=1",
    "/a;jsessionid=1F.node2": "/a",
    "/a;JSESSIONID=1F/b;v=2": "/a/b;v=2",
    "/a;jsessionid=1F?b=1": "/a?b=1",
    "/a?b=1;jsessionid=1F": "/a?b=1",
    "/a?jsessionid=1F": "/a",
    "/a?&utm_source=x&&b=1": "/a?&&b=1",
}

KEPT = [
    *("/a?b=1&a=2&b=1", "/a?", "/a?&&", "/a;b=1;c/d;e", "/utm_source=x/gclid?x=utm_source", "/a?butm_source=x"),
    *(
        "/a?sid=7",
        "/a?sid=latest-news-of-2019",
        "/a?sid=thelatestnewsoftheweek",
        "/a?s=search+words",
        "/a?session_id=42",
    ),
    *("/a?NewsID=1567539&addressid=250646", "/a?gclidx=1", "/a;jsessionidx=1", "/a?sid", f"/a?inside={SESSION}"),
    "/a?sid=20190101000000000",
    *(f"/a?{name}={SESSION}" for name in ("s", "sid", "session", "session_id", "_sessionid", "cfid", "cftoken")),
    *(
        "/a?CFID=123&CFTOKEN=456",
        f"/a;sid={SESSION}",
        "/a?pk_id=7",
        "/a?pk=7",
        "/a?pk_customer=7",
        "/a?pk_sourcebook=7",
    ),
    *("/a?utm_zone=32", "/a?utm_easting=500000", "/a?utm_northing=5300000", "/a?utm=32U", "/a?mtm_year=2024"),
]


@pytest.mark.parametrize(("rest", "expected"), DROPPED.items())
def test_visit_parameters_are_dropped(rest, expected):
    """A listed parameter is dropped, the others keep their order."""
    assert RULES.strip(rest) == expected
    assert RULES.may_strip(rest)


@pytest.mark.parametrize("rest", KEPT)
def test_page_parameters_are_kept(rest):
    """A parameter that may select a page is kept unchanged."""
    assert RULES.strip(rest) == rest


def test_own_list_replaces_the_default():
    """Each form of entry works as documented, and nothing else is dropped."""
    rules = DropRules.compile(["ref", "x_*", ";tok", ";w*"])
    rest = "/a;tok=1;w1=2;k=3?ref=4&x_y=5&v=6&utm_id=7"
    assert rules.strip(rest) == "/a;k=3?v=6&utm_id=7"


@pytest.mark.parametrize("entry", ["", "*", "a b", "a&b", ";", "a=1", "a**"])
def test_unreadable_entry_is_named(entry):
    """An invalid entry raises an error that shows it."""
    with pytest.raises(ValueError, match=r": must be name, prefix\* or ;name"):
        DropRules.compile([entry])
