"""Published test vectors; intended differences of the canonical form are listed with their reasons."""

import csv
import json

import pytest

from crawlproject.urls import Canonicalizer, resolve

CANONICALIZER = Canonicalizer()


def wpt_cases(path):
    """The cases of a web-platform-tests file; its comments are plain strings."""
    return [case for case in json.loads(path.read_text(encoding="utf-8")) if isinstance(case, dict)]


def csv_rows(path):
    lines = [
        line for line in path.read_text(encoding="utf-8").splitlines() if line.strip() and not line.startswith("#")
    ]
    return [[cell.strip(" ") for cell in row] for row in csv.reader(lines, skipinitialspace=True)]


def parameters(url):
    """The parameters of *url* in the form of crawler-commons: sorted, without nameless ones and empty values."""
    return sorted(param.removesuffix("=") for param in url.partition("?")[2].split("&") if param.partition("=")[0])


def differs_on_purpose(url, expected):
    """Whether a difference is intended: we keep what others normalise, or do not crawl what others keep."""
    got = CANONICALIZER.canonical(url)
    if got is None:  # another scheme, no host, or a person's "foo.com/a", which only seed lists may have
        return not expected.startswith("http://") or "://" not in url
    return (
        "//" in got.partition("://")[2]  # empty path segments are kept: RFC 3986 gives them a meaning
        or (got != expected and parameters(got) == parameters(expected) != [])  # order and empty values are kept
        or not expected.isascii()  # the host in its readable form
    )


def test_wpt_urls_resolve_as_in_browsers(url_vectors):
    """All cases of urltestdata.json come out as given, but for the fragment and schemes other than http(s)."""
    cases = wpt_cases(url_vectors / "wpt-urltestdata.json")
    wrong = []
    for case in cases:
        href = case.get("href", "").partition("#")[0]
        expected = href if href.startswith(("http://", "https://")) else None
        if resolve(case["input"], case["base"]) != expected:
            wrong.append(case)
    assert len(cases) > 800
    assert wrong == []


def test_wpt_hosts_become_ascii(url_vectors):
    """All host names of toascii.json are encoded or refused as given."""
    cases = wpt_cases(url_vectors / "wpt-toascii.json")
    got = {case["input"]: resolve(f"https://{case['input']}/x") for case in cases}
    assert got == {case["input"]: case["output"] and f"https://{case['output']}/x" for case in cases}


def test_wpt_queries_are_escaped_in_the_page_encoding(url_vectors):
    """The cases of percent-encoding.json come out as given, but for three characters.

    Two of them Python's codecs do encode; and "|", a trail byte in Shift_JIS, is escaped here, as RFC 3986 wants.
    """
    wrong = set()
    for case in wpt_cases(url_vectors / "wpt-percent-encoding.json"):
        for encoding, expected in case["output"].items():
            if resolve(f"http://h/?{case['input']}A", None, encoding) != f"http://h/?{expected}A":
                wrong.add((case["input"], encoding))
    assert wrong == {("\x0eA", "iso-2022-jp"), ("\ue5e5", "gb18030"), ("\u2212", "shift_jis")}


@pytest.mark.parametrize("name", ["crawler-commons-weirdToNormalizedUrls.csv", "nutch-basic-normalizer.jsonl"])
def test_weird_urls_are_normalised(url_vectors, name):
    """Other crawlers' normal forms agree where their rules do."""
    if name.endswith(".csv"):
        rows = [row for row in csv_rows(url_vectors / name) if len(row) == 2]
    else:
        rows = [list(json.loads(line).values()) for line in (url_vectors / name).read_text().splitlines()]
    different = [row for row in rows if CANONICALIZER.canonical(row[0]) != row[1]]
    assert len(rows) > 60
    assert [row for row in different if not differs_on_purpose(*row)] == []
    assert len(different) < len(rows) / 3
