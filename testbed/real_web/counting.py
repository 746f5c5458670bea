"""Counts what a crawl of a real web must find, from the files alone.

An independent check of the crawler: breadth-first from the start pages, with lxml to extract links, urllib to join
URLs, and a small model of nginx's responses. It opens no connection and imports nothing from the crawler.
"""

import os
import posixpath
import re
import stat
from collections import Counter, deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote_to_bytes, urljoin, urlsplit

import lxml.html
from lxml import etree

from testbed.real_web.web import INDEX_NAMES, URL_SAFE, RealWeb, is_html

SPACES = " \t\n\f\r"  # HTML's white space, a subset of Python's
REFRESH = re.compile(r"\s*[0-9.]+\s*[;,]\s*url\s*=\s*['\"]?([^'\"]*)", re.IGNORECASE)
NO_LINE_BREAKS = {ord(char): None for char in "\t\n\r"}  # browsers drop these anywhere in a URL


class Kind(StrEnum):
    """How a URL is answered."""

    PAGE = "page"
    REDIRECT = "redirect"
    NON_HTML = "non-HTML"
    BROKEN = "broken"


class Url(NamedTuple):
    """A URL as nginx sees it: with a decoded path, so that different encodings of a path are equal."""

    address: str
    path: str
    query: str = ""


class Answer(NamedTuple):
    """The answer of nginx for a URL: the file of a page, or the target of a redirect."""

    kind: Kind
    file: Path | None = None
    target: Url | None = None


@dataclass
class Count:
    """Every URL found, and how it is answered."""

    web: RealWeb
    kinds: dict[Url, Kind] = field(default_factory=dict)
    nofollow_pages: int = 0

    def urls(self, kind: Kind) -> list[str]:
        """The URLs answered in this way, sorted."""
        return sorted(self.web.url(*url) for url, answered in self.kinds.items() if answered is kind)

    def summary(self) -> dict[str, Any]:
        """The numbers, ready for JSON."""
        total = Counter(self.kinds.values())
        pages = Counter(url.address for url, kind in self.kinds.items() if kind is Kind.PAGE)
        return {
            "pages": total[Kind.PAGE],
            "redirects": total[Kind.REDIRECT],
            "broken": total[Kind.BROKEN],
            "broken_html": sum(kind is Kind.BROKEN and is_html(url.path) for url, kind in self.kinds.items()),
            "non_html": total[Kind.NON_HTML],
            "nofollow_pages": self.nofollow_pages,
            "hosts": [
                {"package": host.package, "address": host.address, "pages": pages[host.address]}
                for host in self.web.hosts
            ],
        }


def count(web: RealWeb) -> Count:
    """Follow every link from the start pages of the hosts, never leaving the web."""
    result = Count(web)
    addresses = {f"{host.address}:{web.port}": host.address for host in web.hosts}
    queue = deque(Url(host.address, host.index) for host in web.hosts)
    while queue:
        url = queue.popleft()
        if url in result.kinds:
            continue
        answer = answer_to(web, url)
        result.kinds[url] = answer.kind
        if answer.target is not None:
            queue.append(answer.target)
        if answer.file is not None:
            tree = parse(answer.file.read_bytes())
            result.nofollow_pages += is_nofollow(tree)
            found = (parse_url(link, addresses) for link in links(tree, web.url(*url)))
            queue.extend(link for link in found if link is not None)
    return result


def answer_to(web: RealWeb, url: Url) -> Answer:
    """The response of the server at this address, by the rules of the generated nginx.conf."""
    path = posixpath.normpath("/" + url.path.lstrip("/"))
    if path == "/":
        index = next(host.index for host in web.hosts if host.address == url.address)
        return Answer(Kind.REDIRECT, target=Url(url.address, index))
    if url.path.endswith(("/", "/.", "/..")):
        path += "/"
    owner = web.owner(path)
    if owner is not None and owner.address != url.address:
        return Answer(Kind.REDIRECT, target=url._replace(address=owner.address))
    file = web.root / path.lstrip("/")
    if path.endswith("/"):
        file = next(
            (file / name for name in INDEX_NAMES if exists_as(file / name, stat.S_ISREG)), file / INDEX_NAMES[0]
        )
    elif exists_as(file, stat.S_ISDIR):
        return Answer(Kind.REDIRECT, target=url._replace(path=path + "/"))
    if not exists_as(file, stat.S_ISREG):
        return Answer(Kind.BROKEN)
    return Answer(Kind.PAGE, file) if is_html(file.name) else Answer(Kind.NON_HTML)


def exists_as(file: Path, test: Callable[[int], bool]) -> bool:
    """Whether the file exists, after all symlinks, and is of this kind; False for a path that is too long."""
    try:
        return test(file.stat().st_mode)
    except (OSError, ValueError):
        return False


def parse(body: bytes) -> lxml.html.HtmlElement | None:
    """The document, or None if it is empty; ``huge_tree`` because real pages nest deeper than libxml2's limit."""
    try:
        return lxml.html.document_fromstring(body, parser=lxml.html.HTMLParser(huge_tree=True))
    except etree.LxmlError:
        return None


def is_nofollow(tree: lxml.html.HtmlElement | None) -> bool:
    """Whether a robots meta element forbids following the links of the page."""
    metas = [] if tree is None else tree.iter("meta")
    directives = [meta.get("content", "") for meta in metas if meta.get("name", "").strip().lower() == "robots"]
    return any(word.strip().lower() in ("nofollow", "none") for line in directives for word in line.split(","))


def links(tree: lxml.html.HtmlElement | None, page_url: str) -> Iterator[str]:
    """The absolute URLs that a crawler must follow from a page, except for nofollow links."""
    if tree is None or is_nofollow(tree):
        return
    base_href = next((base.get("href") for base in tree.iter("base") if base.get("href") is not None), "")
    base_url = join(page_url, base_href) or page_url
    found = [(page_url, target) for target in refreshes(tree)]
    for element in tree.iter("a", "area", "frame", "link"):
        rel = element.get("rel", "").lower().split()
        href = element.get("src" if element.tag == "frame" else "href")
        if href is not None and "nofollow" not in rel and (element.tag != "link" or "canonical" in rel):
            found.append((base_url, href))
    yield from (url for base, href in found if (url := join(base, href)) is not None)


def refreshes(tree: lxml.html.HtmlElement) -> Iterator[str]:
    """The targets of a page's meta refreshes."""
    for meta in tree.iter("meta"):
        match = REFRESH.match(meta.get("content", ""))
        if match is not None and meta.get("http-equiv", "").lower() == "refresh":
            yield match[1]


def join(base_url: str, href: str) -> str | None:
    """The absolute URL of a link as browsers resolve it, or None if it is not a URL."""
    try:
        return urljoin(base_url, as_browsers_read(href))
    except ValueError:
        return None


def as_browsers_read(href: str) -> str:
    """The URL reference without the spaces around it and the line breaks in it, and with \\ for / before its query."""
    reference = href.strip(SPACES).translate(NO_LINE_BREAKS)
    end = next((at for at, char in enumerate(reference) if char in "?#"), len(reference))
    return reference[:end].replace("\\", "/") + reference[end:]


def parse_url(link: str, addresses: dict[str, str]) -> Url | None:
    """The URL of a link to one of these ``address:port`` pairs, without its fragment; None for all other links."""
    parts = urlsplit(link)
    if parts.scheme != "http" or parts.netloc not in addresses:
        return None
    path = os.fsdecode(unquote_to_bytes(parts.path)) or "/"
    return Url(addresses[parts.netloc], path, quote(parts.query, safe=URL_SAFE + "?"))
