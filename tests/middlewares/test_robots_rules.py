"""Rules of robots.txt: RFC 9309, test cases published by other crawlers, and files of real servers."""

import io
import tarfile
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from scrapy.utils.test import get_crawler

from crawlproject.middlewares.robots import MAX_AGENTS, MAX_ROBOTS_TXT, CappedRobotParser
from crawlproject.urls import robots_rules
from crawlproject.urls.robots_rules import MAX_WILDCARDS, read_group
from tests.cpu import cpu_seconds
from tests.data import real, vector


def parse(robots_txt: bytes | str) -> CappedRobotParser:
    body = robots_txt.encode() if isinstance(robots_txt, str) else robots_txt
    return CappedRobotParser.from_crawler(get_crawler(), body)


def allowed(robots_txt: bytes | str, path: str, agent: str = "foobot") -> bool:
    """Whether ``agent`` may fetch ``path``."""
    return parse(robots_txt).allowed(f"http://example.com{path}", agent)


def published(file: str) -> bytes:
    return vector(f"robots/crawler-commons/{file}.txt").read_bytes()


def rules(*lines: str) -> str:
    return "\n".join(("User-agent: *", *lines))


#: Section of the RFC -> robots.txt, path, whether foobot may fetch it.
RFC: dict[str, tuple[str, str, bool]] = {
    "2.2.1 several agents share a group": ("User-agent: barbot\nUser-agent: foobot\nDisallow: /", "/", False),
    "2.2.1 its own group wins over that for all": (rules("Disallow: /", "User-agent: foobot", "Allow: /"), "/", True),
    "2.2.1 another one's group": ("User-agent: barbot\nDisallow: /", "/", True),
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
    "2.3 bytes that are not UTF-8": (rules("Disallow: /a"), "/a", False),
    "2.3.1.5 lines that are no rules": ("<html>\n" + rules("<p>", "Disallow: /a", "\x00\x01", "Allow"), "/a", False),
    "2.3 carriage returns alone": ("User-agent: *\rDisallow: /a\r", "/a", False),
}


@pytest.mark.parametrize("case", RFC)
def test_rules_are_those_of_rfc_9309(case: str) -> None:
    """Section by section."""
    robots_txt, path, expected = RFC[case]
    assert allowed(robots_txt, path) is expected


GROUP = "User-agent: {}\nDisallow: /"

#: User-agent line -> whether it names crawlproject.
NAMES = {
    "crawlproject": True,
    "CrawlProject": True,
    "crawlproject/0.1": True,
    "crawlproject/0.1 (+http://example.com/)": True,
    "crawlproject*": True,
    "crawlproject # us": True,
    "*": True,
    "* # all": True,
    "crawl": False,
    "project": False,
    "crawlprojects": False,
    "crawlproject-image": False,
    "crawl*": False,
    "": False,
}


@pytest.mark.parametrize("name", NAMES)
def test_agents_are_matched_by_their_product_token(name: str) -> None:
    """The whole token, ignoring case, with or without a version."""
    assert allowed(GROUP.format(name), "/", "crawlproject") is not NAMES[name]
    assert allowed(GROUP.format(name), "/", "crawlproject/0.1") is not NAMES[name]


BROWSER_LIKE = "Mozilla/5.0 (compatible; FooBot/2.1; +http://example.com/bot) like Gecko"


@pytest.mark.parametrize(
    ("names", "holds"),
    [("foobot", True), ("mozilla", True), ("2.1", False), ("5.0", False), ("example.com", False), ("foo", False)],
)
def test_every_product_of_a_user_agent_is_matched(names: str, holds: bool) -> None:
    """Not versions and addresses; of several matches the longest counts."""
    assert allowed(GROUP.format(names), "/", BROWSER_LIKE) is not holds
    robots_txt = f"{GROUP.format(names)}\nUser-agent: compatible\nAllow: /"
    assert allowed(robots_txt, "/", BROWSER_LIKE)


#: robots.txt -> whether foobot may fetch /a and /b.
GROUPS = {
    "unknown line": ("User-agent: foobot\nNoindex: /x\nUser-agent: barbot\nDisallow: /a", (False, True)),
    "unknown line within": ("User-agent: foobot\nDisallow: /a\nHost: example.com\nDisallow: /b", (False, False)),
    "delay": ("User-agent: foobot\nCrawl-delay: 5\nUser-agent: barbot\nDisallow: /a", (False, True)),
    "blank line": ("User-agent: foobot\n\nUser-agent: barbot\n\nDisallow: /a", (False, True)),
    "empty rule ends the list": ("User-agent: foobot\nDisallow:\nUser-agent: barbot\nDisallow: /a", (True, True)),
    "groups of one agent": (
        "User-agent: foobot\nDisallow: /a\nUser-agent: *\nDisallow: /\nUser-agent: FooBot/1.0\nDisallow: /b",
        (False, False),
    ),
    "all and one": ("User-agent: *\nUser-agent: foobot\nDisallow: /a\nUser-agent: *\nDisallow: /b", (False, True)),
    "group without rules": ("User-agent: foobot\n\nSitemap: /s", (True, True)),
    "rules of nobody": ("Disallow: /a\nUser-agent: foobot\nDisallow: /b", (True, False)),
}


@pytest.mark.parametrize("case", GROUPS)
def test_lines_are_grouped_by_agent(case: str) -> None:
    """Only an agent after a rule starts another group."""
    robots_txt, expected = GROUPS[case]
    assert (allowed(robots_txt, "/a"), allowed(robots_txt, "/b")) == expected


#: Rule, as bytes, and URL -> whether it is allowed.
ODD_RULES = [
    (b"Disallow: http://example.com/a", "/a", False),
    (b"Disallow: HTTPS://user@Example.com:8080/a", "/a", False),
    (b"Disallow: http://example.org/a", "/a", True),
    (b"Disallow: http://example.com", "/a", False),
    (b"Disallow: /\nAllow: http://example.com/a", "/a", True),
    (b"Disallow: http://*/a", "/a", True),
    (b"Disallow: /%FF", "/%ff", False),
    (b"Disallow: /%FF", "/%FE", True),
    (b"Disallow: /caf%e9", "/caf%E9", False),
    (b"Disallow: /caf\xe9", "/caf%E9", False),
    (b"Disallow: /caf\xe9", "/caf", True),
    (b"Disallow: /caf\xc3\xa9", "/caf%C3%A9", False),
    (b"Disallow: /%zz", "/%zz", False),
    (b"Disallow: /%zz", "/%25zz", False),
    (b"Disallow: /%zz", "/zz", True),
    (b"Disallow: /a%3Fb", "/a?b", True),
    (b"Disallow: /a?", "/a?", False),
    (b"Disallow: /a?", "/a", True),
    (b"Disallow: /a b", "/a%20b", False),
    (b"Disallow: /(a)", "/%28a%29", False),
    (b"Disallow: /a$", "/a", False),
    (b"Disallow: /a$", "/ab", True),
    (b"Disallow: /a$b", "/a$b", False),
    (b"Disallow: /a*$", "/ab", False),
    (b"Disallow: /a**b", "/axb", False),
    (b"Disallow: *b", "/axb", False),
    (b"Disallow: a", "/a", True),
    (b"Disallow: /a\x00b", "/a%00b", False),
]


@pytest.mark.parametrize(("rule", "path", "expected"), ODD_RULES)
def test_urls_and_escapes_in_rules_are_read(rule: bytes, path: str, expected: bool) -> None:
    """Absolute URLs apply to their host; escapes are compared as bytes."""
    assert allowed(b"User-agent: *\n" + rule, path) is expected


HOSTS = (
    "http://a.example",
    "https://A.example:80",
    "http://u:p@a.example",
    "http://[::1]:80",
    "http://b\u00fc.example",
)
REFERENCES = (
    *("", "/", "?", "/?", "/??", "?x", "/a", "/a?", "/a?x=1&y", "/a?#f", "/a#f?x", "/a#?", "#f", "/robots.txt"),
    *("/robots.txt?", "/robots.txt?x", "//a", "/%61", "/%C3%A9", "/\u00e9", "/a?\u00e9", "/a b", "/a;b", "/a@b:c"),
)


def test_urls_that_need_no_parser_are_judged_as_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever their host, path, query and fragment are."""
    lines = ["/a", "/*?", "/*?x$", "/\u00e9", "http://a.example/a$", "http://b.example/", "/*b"]
    both = [f"{('Disallow', 'Allow')[number % 2]}: {line}" for number, line in enumerate(lines)]
    parser = parse(rules(*both, "Disallow: /?"))
    urls = [host + reference for host in HOSTS for reference in REFERENCES]
    found = [parser.allowed(url, "foobot") for url in urls]
    assert 20 < sum(found) < len(urls) - 20
    assert sum(robots_rules._plain(url) is not None for url in urls) > 10
    monkeypatch.setattr(robots_rules, "_plain", lambda _: None)
    assert found == [parser.allowed(url, "foobot") for url in urls]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_file_is_read_in_utf_8_and_utf_16(encoding: str) -> None:
    """UTF-8 with or without a byte order mark, UTF-16 with one."""
    mark = "\ufeff" if encoding[-2:] in ("le", "be") else ""
    body = (mark + rules("Disallow: /caf\u00e9")).encode(encoding)
    assert not allowed(body, "/caf%C3%A9")
    assert allowed(body, "/tea")


def test_too_long_file_is_read_up_to_the_limit() -> None:
    """RFC 9309 §2.5: the rules in the first 500 KiB apply."""
    line = "Disallow: /private/\n"
    crawler = get_crawler()
    body = ("User-agent: *\nDisallow: /a\n" + line * (MAX_ROBOTS_TXT // len(line)) + "Disallow: /b\n").encode()
    parser = CappedRobotParser.from_crawler(crawler, body)
    assert not parser.allowed("http://example.com/a", "foobot")
    assert parser.allowed("http://example.com/b", "foobot")
    assert crawler.stats.get_value("robotstxt/truncated") == 1


def test_long_file_in_utf_16_is_decoded_up_to_the_limit() -> None:
    """32 MB of lone surrogates, 31 kB compressed, held the event loop for 3.7 s."""
    decoded = []

    class Body(bytes):
        """Counts the bytes decoded."""

        def __getitem__(self, key: Any) -> Any:
            return Body(super().__getitem__(key))

        def decode(self, *args: Any) -> str:
            decoded.append(len(self))
            return super().decode(*args)

    crawler = get_crawler()
    line = rules("Disallow: /a\nDisallow: /b").encode("utf-16")
    body = Body(line + b"\x00\xdc" * MAX_ROBOTS_TXT)
    parser = CappedRobotParser.from_crawler(crawler, body)
    assert decoded == [MAX_ROBOTS_TXT]
    assert not parser.allowed("http://example.com/a", "foobot")
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
    ("crawl-delay-group-merging", "mybot", "/private/", False),
    ("crawl-delay-group-merging", "yourbot", "/login/", False),
    ("crawl-delay-group-merging", "mybot", "/login/", True),
    ("extensions-group-merging", "anybot", "/llms.txt", True),
    ("extensions-group-merging", "anybot", "/x", False),
    ("extensions-group-merging", "mybot", "/private/", False),
    ("extensions-group-merging", "yourbot", "/private/", False),
]

#: The same for files of real sites, which are not part of the project.
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


@pytest.mark.parametrize("case", PUBLISHED, ids=str)
def test_published_cases_are_met(case: tuple[str, str, str, bool]) -> None:
    """Files of crawler-commons."""
    file, agent, path, expected = case
    assert allowed(published(file), path, agent) is expected


@pytest.mark.long
@pytest.mark.parametrize(("file", "agent", "path", "expected"), OF_SITES)
def test_published_cases_of_sites_are_met(file: str, agent: str, path: str, expected: bool) -> None:
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
def test_published_crawl_delays_are_read(file: str, agent: str, seconds: float | None) -> None:
    """Those of the crawler's group."""
    assert parse(published(file)).crawl_delay(agent) == seconds


@pytest.mark.long
def test_real_files_cause_no_error_and_take_little_time() -> None:
    """2,163 files of real servers, whatever they contain."""
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


def bad_pattern(number: int) -> bytes:
    """One of many that take long to be looked for among ``a``."""
    return b"*" + b"a" * (number % 45 + 60) + b"b" + b"a" * (number // 45 + 60)


#: Files that are expensive by the groups of other crawlers, by their lines, or by their patterns.
HOSTILE = {
    "agents by rules": b"".join(b"User-agent: agent%d\n" % n for n in range(1000))
    + b"".join(b"Disallow: /%x\n" % n for n in range(4000)),
    "ours in each of them": b"".join(b"User-agent: a%d\nUser-agent: *\n" % n for n in range(1000))
    + b"".join(b"Disallow: /%x\n" % n for n in range(30_000)),
    "changing groups": b"user-agent:*\nallow:/\n" * 24_000,
    "one line": b"User-agent: *\nDisallow: /" + b"*a" * 250_000,
    "stars": b"User-agent: *\nDisallow: /" + b"*" * 500_000,
    "long lines": b"User-agent: *\n" + (b"Disallow: /" + b"*a" * 8000 + b"b\n") * 31,
    "wildcards": b"User-agent: *\n" + b"\n".join(b"Disallow: *%x$" % n for n in range(30_000)),
    "bad wildcards": b"User-agent: *\n" + b"\n".join(b"Disallow: %s" % bad_pattern(n) for n in range(MAX_WILDCARDS)),
    "escapes": b"User-agent: *\n" + (b"Disallow: /" + b"%41" * 5000 + b"\n") * 30,
    "no lines": b" " * 512_000,
    "empty lines": b"\r" * 512_000,
    "almost records": b" user-agent\t" * 42_000,
    "absolute": b"User-agent: *\n" + b"\n".join(b"Disallow: http://example.com/%x" % n for n in range(15_000)),
    "sitemaps": b"Sitemap: /\n" * 45_000,
    "byte order marks": b"\xef\xbb\xbf" * 170_000,
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_files_take_little_time(case: str) -> None:
    """Each step takes less than 0.25 s of CPU, whatever the 500 KiB contain."""
    url = "http://example.com/" + "a" * 2060
    least = [float("inf")] * 3
    for _ in range(5):
        asked = parse(HOSTILE[case])
        steps: tuple[Callable[[], object], ...] = (
            lambda asked=asked: asked.crawl_delay("crawlproject"),
            lambda asked=asked: asked.allowed(url, "crawlproject"),
            lambda asked=asked: asked.sitemaps,
        )
        took = [cpu_seconds(lambda step=step: step, times=1) for step in steps]
        least = [min(each) for each in zip(least, took, strict=True)]
        if max(least) < 0.2:
            break
    assert max(least) < 0.25


@pytest.mark.parametrize("case", ["agents by rules", "bad wildcards"])
def test_hostile_files_take_little_memory(case: str) -> None:
    """10 MB; Protego takes 300 for the first."""
    tracemalloc.start()
    parse(HOSTILE[case]).allowed("http://example.com/", "crawlproject")
    assert tracemalloc.get_traced_memory()[1] < 10_000_000
    tracemalloc.stop()


def test_wildcards_beyond_the_limit_disallow_more() -> None:
    """The prefix before the first star is disallowed; allowing patterns beyond the limit are ignored."""
    crawler = get_crawler()
    lines = (f"Disallow: /x*{n}" for n in range(MAX_WILDCARDS))
    body = rules("Disallow: /c", *lines, "Disallow: /a*b", "Allow: /c*d").encode()
    parser = CappedRobotParser.from_crawler(crawler, body)
    assert not parser.allowed("http://example.com/a", "foobot")
    assert not parser.allowed("http://example.com/cd", "foobot")
    assert parser.allowed("http://example.com/d", "foobot")
    assert crawler.stats is not None
    assert crawler.stats.get_value("robotstxt/too_many_wildcards") == 1


def test_memory_of_agents_is_bounded() -> None:
    """Requests may have different User-Agents: each gets its verdict."""
    parser = parse("User-agent: bot7\nDisallow: /\nUser-agent: *\nAllow: /")
    verdicts = [parser.allowed("http://example.com/", f"bot{n}") for n in (*range(20), 7)]
    assert [n for n, verdict in enumerate(verdicts) if not verdict] == [7, 20]
    assert len(parser._groups) <= MAX_AGENTS


@pytest.mark.parametrize(
    ("value", "delay"), [("0,5", 0.5), ("0.5", 0.5), ("1,5 s", None), ("1,000.5", None), (",5", 0.5), ("5,", 5)]
)
def test_a_delay_may_have_a_decimal_comma(value: str, delay: float | None) -> None:
    """As in much of Europe; what is no number is no delay."""
    assert read_group(f"User-agent: *\nCrawl-delay: {value}\n".encode(), "bot").delay == delay


@pytest.mark.parametrize("marks", ["", "\ufeff", "\ufeff\ufeff"])
def test_byte_order_marks_hide_no_group(marks: str) -> None:
    """However many editors have added one."""
    assert not read_group(f"{marks}User-agent: *\nDisallow: /".encode(), "bot").allows("http://a.example/x")
