"""Reads sitemaps, also those of real sites and broken ones."""

import asyncio
import codecs
import gzip

import pytest
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from crawlproject.discovery import sitemap_reader
from crawlproject.discovery.sitemap_reader import MAX_TAG, MAX_URLS, read_sitemap, sitemap_links
from crawlproject.download.compressed_parts import MAX_PARTS
from tests.data import vector

SITEMAP = "http://a.example/sitemap.xml"
NAMESPACE = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'


def urlset(*urls: str) -> bytes:
    locations = "".join(f"<url><loc>{url}</loc></url>" for url in urls)
    return f"<?xml version='1.0' encoding='UTF-8'?><urlset {NAMESPACE}>{locations}</urlset>".encode()


def read(body: bytes) -> tuple[str, list[str]]:
    return read_sitemap(Response(SITEMAP, body=body))[:2]


def published(name: str) -> tuple[str, list[str]]:
    return read(vector(f"sitemaps/{name}").read_bytes())


@pytest.mark.parametrize("pack", [bytes, gzip.compress, lambda body: b"\xef\xbb\xbf\n " + body])
def test_pages_of_a_sitemap_are_listed(pack: object) -> None:
    """Plain or compressed, after a byte order mark and white space; entities are decoded, URLs stripped."""
    body = pack(urlset("http://a.example/1?a=1&amp;b=2", "\n http://a.example/2 \n"))
    assert read(body) == ("sitemap", ["http://a.example/1?a=1&b=2", "http://a.example/2"])


def test_a_sitemap_of_too_many_gzip_members_is_not_decompressed() -> None:
    """Each member costs time, however small."""
    body = urlset("http://a.example/1")
    members = [gzip.compress(body[start : start + 10]) for start in range(0, len(body), 10)]
    assert read(b"".join(members)) == ("sitemap", ["http://a.example/1"])
    with pytest.raises(OSError, match="parts"):
        read(b"".join(members) + gzip.compress(b" ") * MAX_PARTS)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("mark", ["", "\ufeff", "\ufeff \n"])
@pytest.mark.parametrize("declared", ["UTF-16", "UTF-8", "utf-16le"])
def test_utf_16_is_read(encoding: str, mark: str, declared: str) -> None:
    """With or without a byte order mark, whatever the declaration says; also text files."""
    text = urlset("http://a.example/caf\u00e9").decode().replace("UTF-8", declared)
    assert read((mark + text).encode(encoding)) == ("sitemap", ["http://a.example/caf\u00e9"])
    assert read(f"{mark}http://a.example/1\nhttp://a.example/2".encode(encoding))[1] == [
        "http://a.example/1",
        "http://a.example/2",
    ]


def test_sitemaps_of_an_index_are_listed() -> None:
    """As sitemaps, not as pages."""
    body = f"<sitemapindex {NAMESPACE}><sitemap><loc>{SITEMAP}.gz</loc></sitemap></sitemapindex>".encode()
    assert read(body) == ("sitemap index", [f"{SITEMAP}.gz"])


def test_text_file_may_be_a_sitemap() -> None:
    """With a URL per line."""
    assert read(b"http://a.example/1\r\n\r\nhttps://a.example/2\n")[1] == ["http://a.example/1", "https://a.example/2"]


@pytest.mark.parametrize(
    "body", [b"", b"not found", b"<", b"<html><body>404</body></html>", b"http://a.example/\nhello", b"\0\1"]
)
def test_other_content_is_malformed(body: bytes) -> None:
    """ValueError gives the reason."""
    with pytest.raises(ValueError, match=r"neither|invalid XML"):
        read(body)


def test_truncated_sitemap_is_read_up_to_its_end() -> None:
    """Truncated within its last entry, compressed or not."""
    whole = urlset(*(f"http://a.example/{number}" for number in range(9)))
    assert len(read(whole[:-45])[1]) in (7, 8)
    assert len(read(gzip.compress(whole)[:-9])[1]) >= 8


def test_decompression_bombs_and_endless_lists_are_cut() -> None:
    """At a maximum decompressed size, and at the protocol's number of URLs."""
    bomb = gzip.compress(urlset("http://a.example/" + "a" * 100_000))
    with pytest.raises(ValueError, match="1000"):
        read_sitemap(Response(SITEMAP, body=bomb), 1000)
    with pytest.raises(ValueError, match="more than 1000 bytes"):
        read_sitemap(Response(SITEMAP, body=b" " * 1001), 1000)
    assert len(read(urlset(*["http://a.example/"] * (MAX_URLS + 9)))[1]) == MAX_URLS


#: The limit in the test; with the real one it takes 6 s.
FEW_TAGS = 20_000
COSTLY = {
    "empty_elements": b"<a/>" * (FEW_TAGS + 9),
    "attributes": b"<a " + b"".join(b"a%d='<>' " % number for number in range(10_000)) + b"/>",
    "text_in_a_tag": b"<a " + b"a" * MAX_TAG + b"/>",
}


@pytest.mark.parametrize("costly", COSTLY.values(), ids=COSTLY)
def test_costly_markup_is_cut(costly: bytes, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """URLs before it are read; 32 MB of empty elements took 18 s and 1 GB."""
    monkeypatch.setattr(sitemap_reader, "MAX_TAGS", FEW_TAGS)
    crawler = get_crawler()
    body = (
        urlset("http://a.example/1").removesuffix(b"</urlset>") + costly + b"<url><loc>http://a.example/2</loc></url>"
    )
    links = asyncio.run(sitemap_links(Response(SITEMAP, body=body), crawler, print))
    assert links.hrefs == ["http://a.example/1"]
    assert crawler.stats is not None
    assert crawler.stats.get_value("frontier/sitemaps/truncated") == 1
    assert [record.levelname for record in caplog.records if "Sitemap cut" in record.message] == ["WARNING"]


LONG = {
    "comment": b"<!-- don't " + b"a" * MAX_TAG + b" -->",
    "cdata": b"<![CDATA[" + b"<" * MAX_TAG + b"]]>",
    "text": b"'" + b"a" * MAX_TAG,
    "quotes": b"<a b='>' c=\"'\"/>" * 9_000,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_long_text_is_not_cut(text: bytes) -> None:
    """Only tags cost more than their length."""
    body = urlset("http://a.example/1").removesuffix(b"</urlset>") + text + b"<url><loc>http://a.example/2</loc></url>"
    assert read_sitemap(Response(SITEMAP, body=body)) == (
        "sitemap",
        ["http://a.example/1", "http://a.example/2"],
        False,
    )


@pytest.mark.parametrize("declared", ["utf-16", "UTF-16LE", "utf16", "ucs-2", "UTF-32"])
def test_utf_8_that_declares_utf_16_is_read(declared: str) -> None:
    """As .NET writes it: the declaration of a string, the bytes of UTF-8."""
    body = urlset("http://a.example/caf\u00e9").replace(b"'UTF-8'", f"'{declared}'".encode())
    assert read(body.replace(b"?>", b"?>\r\n", 1)) == ("sitemap", ["http://a.example/caf\u00e9"])


def test_utf_16_is_decoded_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """One call for all of it held the interpreter lock, and with it the event loop, for 3.5 s."""
    pieces = []

    class Decoder:
        """Notes the length of each piece."""

        def __init__(self, errors: str) -> None:
            self._decoder = utf_16(errors)

        def decode(self, data: bytes, final: bool = False) -> str:
            pieces.append(len(data))
            return self._decoder.decode(data, final)

    utf_16 = codecs.getincrementaldecoder("utf-16-le")
    monkeypatch.setattr(codecs, "getincrementaldecoder", lambda _: Decoder)
    body = (
        codecs.BOM_UTF16_LE + urlset("http://a.example/caf\u00e9").decode().encode("utf-16-le") + b"\x00\xdc" * 90_000
    )
    assert read(body) == ("sitemap", ["http://a.example/caf\u00e9"])
    assert max(pieces) <= 1 << 16
    assert sum(pieces) == len(body)


def test_entities_are_not_expanded() -> None:
    """Neither external files nor nested ones ("billion laughs")."""
    body = b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname">]><urlset><url><loc>&e;</loc></url></urlset>'
    assert read(body) == ("sitemap", [])


@pytest.mark.parametrize("body", [b"<html/>", b"\x1f\x8b\x08 broken", b"\x1f\x8b\x08"])
def test_malformed_sitemap_is_counted_and_logged(body: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """The frontier learns that it listed nothing."""
    crawler = get_crawler()
    links = asyncio.run(sitemap_links(Response(SITEMAP, body=body), crawler, print))
    assert (list(links.hrefs), links.kind) == ([], "sitemap")
    assert crawler.stats.get_value("frontier/sitemaps/malformed") == 1
    ours = [record for record in caplog.records if record.name.startswith("crawlproject.")]
    assert [record.getMessage()[:15] for record in ours] == ["Sitemap ignored"]


@pytest.mark.parametrize(
    ("name", "kind", "count"),
    [
        ("sitemap.txt", "sitemap", 2),
        ("sitemap.txt.gz", "sitemap", 5),
        ("sitemap-with-bom.txt", "sitemap", 2),
        ("xmlSitemap.gz", "sitemap", 5),
        ("sitemap.badns.xml", "sitemap", 2),
        ("sitemap.ns.xml", "sitemap", 2),
        ("sitemap.index.xml", "sitemap index", 0),  # addresses without <loc>
        pytest.param("extension/hebdenbridgetimes-articles-sitemap.xml", "sitemap", 74, marks=pytest.mark.long),
        ("extension/sitemap-news.xml", "sitemap", 2),
        ("extension/sitemap-images.xml", "sitemap", 1),
        ("extension/sitemap-videos.xml", "sitemap", 3),
    ],
)
def test_published_sitemaps_are_read(name: str, kind: str, count: int) -> None:
    """Those of crawler-commons; wrong namespaces are accepted, extensions ignored."""
    assert (published(name)[0], len(published(name)[1])) == (kind, count)


def test_feeds_are_sitemaps() -> None:
    """The protocol allows them: the page of each entry, of RSS and of Atom, once for each link to it."""
    pages = ["http://example.org/2003/12/13/atom03", "http://example.org/2003/12/13/atom03.html"]
    assert published("atom.xml") == ("sitemap", pages)
    item = "<item><title>t</title><link> http://a.example/1 </link><guid>no</guid></item>"
    assert read(f"<rss><channel><link>http://a.example/</link>{item}</channel></rss>".encode())[1] == [
        "http://a.example/1"
    ]
    rdf = f'<r:RDF xmlns:r="urn:r" xmlns="http://purl.org/rss/1.0/"><channel/>{item}</r:RDF>'
    assert read(rdf.encode())[1] == ["http://a.example/1"]
    assert read(b"<rss></rss>") == ("sitemap", [])


@pytest.mark.parametrize(
    "noise",
    [
        "<br />\n<b>Warning</b>:  Undefined variable $x in <b>/a.php</b> on line <b>3</b><br />\n",
        "PHP Notice: a\n",
        "\ufeff\ufeff",
        "\ufeff \n\ufeff",
    ],
)
@pytest.mark.parametrize("declaration", ["<?xml version='1.0' encoding='UTF-8'?>", ""])
def test_what_scripts_and_editors_put_before_xml_is_ignored(noise: str, declaration: str) -> None:
    """A warning of PHP, and a byte order mark for each editor."""
    body = noise + declaration + urlset("http://a.example/1").decode().partition("?>")[2]
    assert read(body.encode()) == ("sitemap", ["http://a.example/1"])
