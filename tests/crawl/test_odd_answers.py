"""Answers that violate RFC 9112: those that Scrapy's handler or curl reads are read."""

import json
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.crawl.crawling import IMPOLITE, Crawl, crawl
from tests.crawl.nasty_server import running
from tests.crawl.odd_answers import BODY, ODD

SPIDER = "tests.crawl.odd_spiders.OddSpider"
SETTINGS = {
    **IMPOLITE,
    "LOG_LEVEL": "INFO",
    "COOKIES_ENABLED": False,
    "DOWNLOAD_FAIL_ON_DATALOSS": False,
    "RETRY_ENABLED": False,
}

UNLIMITED = "Chromium reads heads of 256 kB, curl of 300 kB; Scrapy's handler has no limit to the whole"
NO_STATUS = "a status has three digits, and is 100 at least: nothing would know what it means"
NO_LENGTH = "RFC 9112 section 6.3: an invalid or ambiguous length makes the body unknown, the answer is discarded"
NO_END = "a head that the end of the connection cuts is no answer; curl has got no body either"

#: Read by Scrapy's own handler, not by ours.
NOT_AS_SCRAPY = {"headers of 1 MB": UNLIMITED, "status of two digits": NO_STATUS, "status of four digits": NO_STATUS}

#: Read by curl, not by our handler.
NOT_AS_CURL = {
    "lengths differ": NO_LENGTH,
    "lengths differ with commas": NO_LENGTH,
    "length with a plus": NO_LENGTH,
    "length with a unit": NO_LENGTH,
    "length with a fraction": NO_LENGTH,
    "length of 30 digits": "above any DOWNLOAD_MAXSIZE: Scrapy cancels it, too",
    "half a head": NO_END,
    "head without an end": NO_END,
}

#: Read as Scrapy does; curl takes the first answer, and the page for the other protocol.
BY_CURL_OTHERWISE = "101 before, which nobody asked for"


Verdict = tuple[int, str]


def _verdicts(result: Crawl, names: dict[str, str]) -> dict[str, Verdict | None]:
    """Name -> status and body; None: it failed."""
    items = {names[item["host"]]: item for item in result.items}
    assert set(items) == set(ODD), result.log
    return {name: None if "error" in item else (item["status"], item["body"]) for name, item in items.items()}


def _curl(url: str) -> Verdict | None:
    """The result of curl, which keeps truncated bodies, as the crawls do."""
    done = subprocess.run(
        ["curl", "-s", "--noproxy", "*", "-m", "60", "-w", "%{http_code}", url], capture_output=True, check=False
    )
    answer = done.stdout.decode("latin-1")
    return (int(answer[-3:]), answer[:-3]) if done.returncode == 0 else None


@pytest.fixture(scope="module")
def verdicts() -> Iterator[dict[str, dict[str, Verdict | None]]]:
    """Reader -> name -> verdict."""
    with running({name: {"/bad": script} for name, script in ODD.items()}) as roots:
        names = {urlsplit(root).netloc: name for name, root in roots.items()}
        arguments: dict[str, Any] = {"settings": SETTINGS, "roots": ",".join(roots.values())}
        found = {
            reader: _verdicts(crawl(SPIDER, addon=reader == "ours", **arguments), names)
            for reader in ("ours", "scrapy")
        }
        if shutil.which("curl"):
            found["curl"] = {name: _curl(f"{root}/bad") for name, root in roots.items()}
        yield found


@pytest.mark.parametrize("name", sorted(ODD))
def test_answers_that_scrapy_or_curl_reads_are_read(verdicts: dict[str, dict[str, Verdict | None]], name: str) -> None:
    """With the same status and body, except for the listed differences; all listed ones do differ."""
    ours = verdicts["ours"][name]
    for reader, listed in (("scrapy", NOT_AS_SCRAPY), ("curl", NOT_AS_CURL)):
        theirs = verdicts.get(reader, {}).get(name)
        if theirs is None:
            continue
        if name in listed:
            assert ours is None
        elif reader == "curl" and name == BY_CURL_OTHERWISE:
            assert (ours, theirs[0]) == ((200, BODY.decode()), 101)
        elif not (reader == "scrapy" and BODY.decode() not in theirs[1] and ours == (200, BODY.decode())):
            assert ours == theirs  # ours may have more: Scrapy may keep nothing of the body


def test_no_answer_is_repaired_wrongly(verdicts: dict[str, dict[str, Verdict | None]]) -> None:
    """Most contain the same page in different forms."""
    pages = [name for name, verdict in verdicts["ours"].items() if verdict == (200, BODY.decode())]
    assert len(pages) >= 65


#: TLS: a ServerHello without any extension, as servers of before RFC 5746 (2010) send it, and an alert: access denied.
OLD_TLS = (
    b"\x16\x03\x03\x00\x2a\x02\x00\x00\x26\x03\x03" + bytes(32) + b"\x00\xc0\x2f\x00",
    b"\x15\x03\x03\x00\x02\x02\x31",
)


@pytest.mark.skipif(ssl.OPENSSL_VERSION_INFO < (3,), reason="older versions contact them in any case")
@pytest.mark.parametrize(("verify", "said"), [(False, "access denied"), (True, "unsafe legacy renegotiation")])
def test_https_servers_of_before_2010_are_contacted(verify: bool, said: str) -> None:
    """As by Scrapy's own handler, unless certificates are verified."""

    def serve() -> None:
        connection = server.accept()[0]
        with connection, suppress(ConnectionError):  # the client leaves
            connection.recv(4096)
            connection.sendall(b"".join(OLD_TLS))
            connection.recv(4096)

    with socket.create_server(("127.5.1.2", 0)) as server, ThreadPoolExecutor(1) as pool:
        served = pool.submit(serve)
        urls = json.dumps([f"https://127.5.1.2:{server.getsockname()[1]}/"])
        settings = {**SETTINGS, "DOWNLOAD_VERIFY_CERTIFICATES": verify}
        result = crawl("tests.crawl.hostile_spiders.ToldSpider", settings=settings, urls=urls)
        served.result()
    assert said in result.items[0]["why"]
