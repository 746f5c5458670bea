"""Which rules hold: RFC 9309, the cases that crawlers publish, and what real servers write."""

from __future__ import annotations

import io
import tarfile
import time
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from scrapy.utils.test import get_crawler

from crawlproject.tolerant import MAX_ROBOTS_TXT, CappedRobotParser
from tests.data import real, vector


def parse(robots_txt: bytes | str) -> CappedRobotParser:
    """As the crawl does."""
    body = robots_txt.encode() if isinstance(robots_txt, str) else robots_txt
    return CappedRobotParser.from_crawler(get_crawler(), body)


def allowed(robots_txt: bytes | str, path: str, agent: str = "foobot") -> bool:
    """Whether ``agent`` may fetch ``path``."""
    return parse(robots_txt).allowed(f"http://example.com{path}", agent)


def published(file: str) -> bytes:
    """A file of crawler-commons."""
    return vector(f"robots/crawler-commons/{file}.txt").read_bytes()


def rules(*lines: str) -> str:
    """Rules for everybody."""
    return "\n".join(("User-agent: *", *lines))


MINE = "User-agent: foobot"

#: Section of the RFC -> robots.txt, path, whether foobot may.
RFC: dict[str, tuple[str, str, bool]] = {
    "2.2.1 agents are compared without case": ("uSeR-aGeNt: FOOBOT\nDisallow: /", "/", False),
    "2.2.1 groups of one agent are one": (
        "User-agent: foobot\nDisallow: /a\nUser-agent: foobot\nDisallow: /b",
        "/a",
        False,
    ),
    "2.2.1 several agents share a group": ("User-agent: barbot\nUser-agent: foobot\nDisallow: /", "/", False),
    "2.2.1 its own group wins over that for all": (rules("Disallow: /", "User-agent: foobot", "Allow: /"), "/", True),
    "2.2.1 another one's group": ("User-agent: barbot\nDisallow: /", "/", True),
    "2.2.1 the end of its token": ("User-agent: bot\nDisallow: /", "/", True),
    "2.2.1 the beginning of its token": ("User-agent: foo\nDisallow: /", "/", True),
    "2.2.2 longest match, allow": (rules("Disallow: /a", "Allow: /a/b"), "/a/b/c", True),
    "2.2.2 longest match, disallow": (rules("Allow: /a", "Disallow: /a/b"), "/a/b/c", False),
    "2.2.2 of equal ones the allowing": (rules("Disallow: /a", "Allow: /a"), "/a", True),
    "2.2.2 nothing matches": (rules("Disallow: /a"), "/b", True),
    "2.2.2 case of paths counts": (rules("Disallow: /A"), "/a", True),
    "2.2.2 empty rules are none": (rules("Disallow:"), "/a", True),
    "2.2.2 robots.txt itself": (rules("Disallow: /"), "/robots.txt", True),
    "2.2.2 UTF-8 in the rule": (rules("Disallow: /caf\u00e9"), "/caf%C3%A9", False),
    "2.2.2 escapes in the rule": (rules("Disallow: /caf%c3%a9"), "/caf%C3%A9", False),
    "2.2.2 escaped letter in the rule": (rules("Disallow: /%62%61%7A"), "/baz", False),
    "2.2.2 escaped letter in the URL": (rules("Disallow: /baz"), "/%62%61%7A", False),
    "2.2.2 an escaped slash is none": (rules("Disallow: /a%2Fb"), "/a/b", True),
    "2.2.2 query": (rules("Disallow: /a?b=c"), "/a?b=c&d", False),
    "2.2.3 comment": (rules("Disallow: /a # not /b"), "/a", False),
    "2.2.3 end of the path": (rules("Disallow: /*.gif$"), "/a.gif?x", True),
    "2.2.3 end of the path, met": (rules("Disallow: /*.gif$"), "/b/a.gif", False),
    "2.2.3 anything": (rules("Disallow: /a/*/c"), "/a/x/y/c/d", False),
    "2.2.3 escaped special characters": (rules("Disallow: /a%2A"), "/a*", False),
    "2.2.4 other records do not end a group": (
        "User-agent: foobot\nSitemap: /s\nUser-agent: x\nDisallow: /",
        "/",
        False,
    ),
    "2.3 bytes that are not UTF-8": (rules("Disallow: /a"), "/a", False),
    "2.3.1.5 lines that are no rules": ("<html>\n" + rules("<p>", "Disallow: /a", "\x00\x01", "Allow"), "/a", False),
    "2.3 carriage returns alone": ("User-agent: *\rDisallow: /a\r", "/a", False),
    "5.2 longest match": (
        rules("Allow: /example/page/", "Disallow: /example/page/x.gif"),
        "/example/page/x.gif",
        False,
    ),
}


#: Where the parser in use, Protego, does otherwise.
RFC_ELSE = {
    "2.2.1 the beginning of its token": "it takes a group's name for ours if ours begins with it",
    "2.2.4 nor does a delay": "it lets Crawl-delay end the list of agents, as the authors of most files mean it",
}


def expected_to_fail(cases: Iterable[Any], reasons: Mapping[Any, str]) -> list[Any]:
    """The cases, those that have a reason marked."""
    return [
        pytest.param(case, marks=[pytest.mark.xfail(strict=True, reason=reasons[case])] if case in reasons else [])
        for case in cases
    ]


@pytest.mark.parametrize("case", expected_to_fail(RFC, RFC_ELSE))
def test_rfc_9309(case: str) -> None:
    """Section by section."""
    robots_txt, path, expected = RFC[case]
    assert allowed(robots_txt, path) is expected


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_encodings(encoding: str) -> None:
    """UTF-8 with and without a mark, UTF-16 with one."""
    mark = "\ufeff" if encoding[-2:] in ("le", "be") else ""
    body = (mark + rules("Disallow: /caf\u00e9")).encode(encoding)
    assert not allowed(body, "/caf%C3%A9")
    assert allowed(body, "/tea")


def test_latin1_costs_its_own_line_only() -> None:
    """What is not UTF-8 is left out."""
    assert not allowed(b"User-agent: *\nDisallow: /caf\xe9\nDisallow: /b", "/b")


def test_what_is_too_long_is_read_up_to_the_limit() -> None:
    """RFC 9309 2.5: the rules within the first 500 KiB hold."""
    line = "Disallow: /private/\n"
    crawler = get_crawler()
    body = ("User-agent: *\nDisallow: /a\n" + line * (MAX_ROBOTS_TXT // len(line)) + "Disallow: /b\n").encode()
    parser = CappedRobotParser.from_crawler(crawler, body)
    assert not parser.allowed("http://example.com/a", "foobot")
    assert parser.allowed("http://example.com/b", "foobot")
    assert crawler.stats.get_value("robotstxt/truncated") == 1


#: What crawler-commons expects of its files: file, agent, path, allowed.
PUBLISHED = [
    ("directive-typos-robots", "bot1", "/dissalow/", False),
    ("directive-typos-robots", "bot1", "/desallow/", False),
    ("directive-typos-robots", "bot2", "/useragent/", False),
    ("directive-typos-robots", "bot3", "/useg-agent/", False),
    ("directive-typos-robots", "bot4", "/useragent-no-colon/", False),
    ("format-errors-robots", "bot1", "/whitespace-before-colon/", False),
    ("format-errors-robots", "bot1", "/no-colon/", False),
    ("format-errors-robots", "bot2", "/no-colon-useragent/", False),
    ("format-errors-robots", "bot3", "/whitespace-before-colon/", True),
    ("format-errors-robots", "bot3", "/other", False),
    ("malformed-path", "bot1", "/wiki/Wikipedia_talk:Mediation_Committee/", False),
    ("malformed-path", "bot1", "/wiki/", True),
    ("dos-line-endings", "bot1", "/", True),
    ("robots-with-utf8-bom", "foobot", "/profile", False),
    ("robots-with-utf16le-bom", "foobot", "/profile", False),
    ("robots-with-utf16be-bom", "foobot", "/profile", False),
    ("merge-rules", "testy", "/x", False),
    ("merge-rules", "wget", "/foo/bar/x", True),
    ("merge-rules", "wget", "/tmp/bar/x", False),
    ("merge-rules", "otherbot", "/foo/bar/x", False),
    ("precedence-of-rules", "testy", "/foo/bar", True),
    ("precedence-of-rules", "testy", "/foo/bat", False),
    ("precedence-of-rules", "wget", "/foo", True),
    ("precedence-of-rules", "wget", "/bar", False),
    ("rfc9309-example-longest-match-robots", "foobot", "/example/page/", True),
    ("rfc9309-example-longest-match-robots", "foobot", "/example/page/disallowed.gif", False),
    ("rfc9309-example-rule-group-merging", "examplebot", "/foo", False),
    ("rfc9309-example-rule-group-merging", "examplebot", "/baz", False),
    ("rfc9309-example-rule-group-merging", "bazbot", "/foo", True),
    ("rfc9309-example-rule-group-merging", "bazbot", "/baz", False),
    ("rfc9309-example-simple-robots", "anybot", "/x.gif", False),
    ("rfc9309-example-simple-robots", "anybot", "/publications/x", True),
    ("rfc9309-example-simple-robots", "foobot", "/example/page.html", True),
    ("rfc9309-example-simple-robots", "foobot", "/x", False),
    ("rfc9309-example-simple-robots", "bazbot", "/example/page.html", False),
    ("rfc9309-example-simple-robots", "quxbot", "/example/page.html", True),
    ("crawl-delay-group-merging", "mybot", "/private/", False),
    ("crawl-delay-group-merging", "yourbot", "/login/", False),
    ("crawl-delay-group-merging", "mybot", "/login/", True),
    ("extensions-group-merging", "anybot", "/llms.txt", True),
    ("extensions-group-merging", "anybot", "/x", False),
    ("extensions-group-merging", "mybot", "/private/", False),
    ("extensions-group-merging", "yourbot", "/private/", False),
]

#: The same of files that real sites wrote, which are not part of the project.
OF_SITES = [
    ("many-user-agents", "wget", "/", False),
    ("many-user-agents", "mysuperlongbotnamethatmatchesnothing", "/", True),
    ("many-user-agents", "mysuperlongbotnamethatmatchesnothing", "/bot-trap/", False),
    ("www.flot.com-robots", "foobot", "/img/", False),
    ("twitter.com-robots", "foobot", "/a?b", False),
    ("twitter.com-robots", "foobot", "/a/with_friends", False),
    ("wildcards", "foobot", "/gp/registry/wishlist/x/reserve", False),
    ("wildcards", "foobot", "/wishlist/universal/x", True),
]

#: Where Protego does otherwise.
PUBLISHED_ELSE = {
    ("directive-typos-robots", "bot1", "/desallow/", False): "a misspelling that it does not know",
    ("directive-typos-robots", "bot3", "/useg-agent/", False): "another one",
    ("crawl-delay-group-merging", "mybot", "/private/", False): RFC_ELSE["2.2.4 nor does a delay"],
    ("extensions-group-merging", "mybot", "/private/", False): RFC_ELSE["2.2.4 nor does a delay"],
}


@pytest.mark.parametrize("case", expected_to_fail(PUBLISHED, PUBLISHED_ELSE), ids=str)
def test_published_cases(case: tuple[str, str, str, bool]) -> None:
    """crawler-commons' files."""
    file, agent, path, expected = case
    assert allowed(published(file), path, agent) is expected


@pytest.mark.long
@pytest.mark.parametrize(("file", "agent", "path", "expected"), OF_SITES)
def test_published_cases_of_sites(file: str, agent: str, path: str, expected: bool) -> None:
    """The same."""
    assert allowed(published(file), path, agent) is expected


@pytest.mark.parametrize(
    ("file", "agent", "seconds"),
    [
        ("crawl-delay-group-merging", "mybot", 10),
        ("crawl-delay-group-merging", "anybot", 30),
        ("dos-line-endings", "bot1", 1),
        ("merge-rules", "wget", None),
        pytest.param("twitter.com-robots", "slurp", 1, marks=pytest.mark.long),
        pytest.param("twitter.com-robots", "foobot", None, marks=pytest.mark.long),
    ],
)
def test_published_crawl_delays(file: str, agent: str, seconds: float | None) -> None:
    """The group's own."""
    assert parse(published(file)).crawl_delay(agent) == seconds


@pytest.mark.long
def test_real_files() -> None:
    """Of 2,163 real servers none raises or takes long, whatever it is that they call robots.txt."""
    zstandard = pytest.importorskip("zstandard")
    packed = real("vectors/robots/real-robots.tar.zst").read_bytes()
    count, slowest = 0, 0.0
    with tarfile.open(fileobj=io.BytesIO(zstandard.ZstdDecompressor().decompressobj().decompress(packed))) as tar:
        for member in tar:
            file = tar.extractfile(member)
            if file is None:
                continue
            started = time.process_time()
            parser = parse(file.read())
            parser.allowed("http://example.com/a/b.html?c=d", "crawlproject")
            parser.crawl_delay("crawlproject")
            slowest = max(slowest, time.process_time() - started)
            count += 1
    assert count == 2163
    assert slowest < 2.0  # 0.15 s on an idle machine


def test_hostile_patterns_take_no_time() -> None:
    """Many wildcards are matched in one pass."""
    started = time.process_time()
    parser = parse(rules(*(f"Disallow: /{'*a' * number}b$" for number in range(1, 200))))
    assert parser.allowed("http://example.com/" + "a" * 2000, "foobot")
    assert time.process_time() - started < 2.0  # 0.05 s
