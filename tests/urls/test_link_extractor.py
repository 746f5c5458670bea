"""Differential test: the same links as Scrapy's LinkExtractor, except for the differences listed here."""

import sys
import sysconfig
from itertools import chain, islice
from pathlib import Path
from urllib.parse import urljoin

import pytest
from scrapy.http import HtmlResponse
from scrapy.linkextractors import LinkExtractor
from scrapy.utils.response import get_meta_refresh

from crawlproject.urls import Canonicalizer, extract

URL = "http://www.example.org/d/p.html?q=1"
CANONICALIZER = Canonicalizer()
MAX_FILES = 300

SAME = [
    "<a href=a><A HREF='b'><area href=c></area><a href=d rel=nofollow><a href=e rel='x,NoFollow'>",
    "<base href=/b/><base href=/c/><a href=x>",
    "<!-- <base href='/b/'> --><a href=x><p><base href=/c/>",
    "<a href='\n a\n b \t'><a href=' http://h/x '><a href='#x'><a href=''><a href>",
    "<a href='..'><a href='../../../x'><a href='/a/%2e%2e/b'><a href='./?y'><a href=';z'><a href='//h/x'>",
    "<a href='http:foo'><a href='http:/foo'><a href='HTTP://H:80/'><a href='http://u:p@h/'><a href='http://h./x'>",
    "<a href='http://bücher.de/ü?ü'><a href='/a|b^c`d{e}'><a href='/%zz?%'><a href='/x y?x y'>",
    "<a href='http://h:99999/'><a href='http://a b/'><a href='mailto:x@y'><a href='javascript:x'><a href='http://[x/'>",
    "<a href='?a=1&copy=2&lang=en&reg;&amp;x=1'><a href=&#47;x><a href='http://h/?q=a%20b+c'>",
    "<a href='x?PHPSESSID=1&b=2'><a href='x;jsessionid=1?utm_source=y'>",
    "<noscript><a href=a></noscript><textarea><a href=b></textarea><iframe><a href=c></iframe><xmp><a href=d></xmp>",
    "<script>'<a href=a>'</script><style><a href=b></style><title><a href=c></title><!--[if IE]><a href=d><![endif]-->",
    "<table><a href=a><tr><a href=b></table><p><a href=c><div><b><a href=d></p></b><select><a href=e></select>",
    "<svg><a href=a></svg><math><mi><a href=b></math><button><a href=c></button><map><area href=d></map>",
    "<a/href=a><a href==b><a href=c href=d><a\x0chref=e></a href=f><image href=g>",
    "<a href='x",
    "<frameset><noframes><a href=a></noframes></frameset>",
]

# page: (found here, found by LinkExtractor); each key begins with the reason, which stands in a comment or is no markup
DIFFERENT = {
    "<!-- the URL standard joins, urllib does not --><a href='\\a'>": (["/a"], ["/d//a"]),
    "<!-- the URL standard joins, urllib does not --><a href='///h/x'>": (["http://h/x"], ["/h/x"]),
    "<!-- the URL standard joins, urllib does not --><a href='http:\\\\h\\x'>": (["http://h/x"], ["/d///h/x"]),
    "<!-- urllib drops empty path segments --><a href='a//../b//c'>": (["/d/a/b//c"], ["/d/b/c"]),
    "<!-- urllib before 3.14 takes an empty query for none --><a href='?'>": (
        ["/d/p.html"],
        ["/d/p.html?q=1" if sys.version_info < (3, 14) else "/d/p.html"],
    ),
    "<!-- no host is malformed, not the page itself --><a href='//'>": ([], ["/d/p.html?q=1"]),
    "<!-- host names by UTS 46, not IDNA 2003 --><a href='http://ẞ.com/'>": (
        ["http://xn--zca.com/"],
        ["http://ss.com/"],
    ),
    "<!-- base beyond the first 4,096 characters -->" + " " * 4096 + "<base href=/b/><a href=x>": (["/b/x"], ["/d/x"]),
    "<!-- base that is no page is passed over --><base href='ftp://h/'><a href=x>": (["/d/x"], []),
    "<!-- templates are not part of the page --><template><a href=x></template>": ([], ["/d/x"]),
    "<!-- links of drawings --><svg><a xlink:href=x></svg>": (["/d/x"], []),
    "<!-- a frame set has no links --><frameset><a href=x></frameset>": ([], ["/d/x"]),
    "<!-- NUL becomes U+FFFD --><a href='x\0y'>": (["/d/x%EF%BF%BDy"], ["/d/xy"]),
    "<!-- a refresh is a link, not a redirect --><meta http-equiv=refresh content='0; URL=x'>": (["/d/x"], []),
    "<!-- a link also found without nofollow is followed --><a href=x rel=nofollow><a href=x>": (["/d/x"], []),
}


def page_of(html, url=URL):
    return HtmlResponse(
        url, body=html if isinstance(html, bytes) else html.encode(), headers={"Content-Type": "text/html"}
    )


def found_here(response):
    page = extract(response.text, response.url, max_links=1_000_000)
    return set(CANONICALIZER.batch(page.hrefs, page.base, response.encoding)) - {None}


def found_by_scrapy(response):
    """Canonical URLs of the links found by LinkExtractor, without those that it marks nofollow."""
    links = LinkExtractor(deny_extensions=[]).extract_links(response)
    return {CANONICALIZER.canonical(link.url) for link in links if not link.nofollow} - {None}


def refresh_of(response):
    """Where the page leads by itself, also without scripts: a link here, a redirect for Scrapy."""
    target = get_meta_refresh(response, ignore_tags=("script",))[1]
    return {CANONICALIZER.canonical(target)} if target else set()


def joined_otherwise(response):
    """Links of a page that urllib and the URL standard resolve differently: both results."""
    page = extract(response.text, response.url, max_links=1_000_000)
    both = (
        (CANONICALIZER.canonical(href, page.base), CANONICALIZER.canonical(urljoin(page.base, href)))
        for href in page.hrefs
    )
    return {url for pair in both if pair[0] != pair[1] for url in pair}


def html_files():
    """Up to MAX_FILES pages of the documentation on this machine, evenly distributed."""
    roots = [Path("/usr/share/doc"), Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("purelib"))]
    found = chain.from_iterable(root.rglob("*.html") for root in roots)
    files = sorted({path.resolve() for path in found if path.is_file()})
    return list(islice(files, 0, None, len(files) // MAX_FILES + 1))


@pytest.mark.parametrize("html", SAME)
def test_nasty_page_has_the_same_links(html):
    """Both find the same links in difficult pages."""
    response = page_of(f"<meta charset=utf-8>{html}")
    assert found_here(response) == found_by_scrapy(response)


@pytest.mark.parametrize(("html", "found"), DIFFERENT.items())
def test_known_difference(html, found):
    """The results of both if they differ."""
    response = page_of(f"<meta charset=utf-8>{html}")
    here, scrapys = ({urljoin("http://www.example.org/", url) for url in urls} for urls in found)
    assert (found_here(response), found_by_scrapy(response)) == (here, scrapys)


@pytest.mark.long
def test_documentation_on_this_machine_has_the_same_links():
    """Both find the same links in real pages, refreshes included, except those that urllib resolves differently."""
    files = html_files()
    if not files:
        pytest.skip("no HTML documentation on this machine")
    different = []
    for path in files:
        response = page_of(path.read_bytes(), f"http://docs.example.org{path.as_posix()}")
        by_scrapy = found_by_scrapy(response) | refresh_of(response)
        if (found_here(response) ^ by_scrapy) - joined_otherwise(response):
            different.append(path)
    assert different == []
