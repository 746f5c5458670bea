#!/usr/bin/env python3
"""Serves static sites, one loopback address each, and counts the pages that a crawl loses because of the guard.

    scripts/site_losses.py DIR...            # a folder of built HTML each; or a file with a folder on each line
        [--timeout 1800] [--least 20] [--all]

Reachable pages are counted independently of the crawler: breadth first from the home page, by ``<a>``, ``<area>``,
``<frame>``, ``<link rel=canonical>``, redirects and refreshes, HTML files only.  A page is a file: a static server
ignores queries.  Absolute links to a site's own public address are served as links to its loopback address; links to
other sites are not followed.  ``--least``: sites with fewer reachable pages are skipped.  ``--all``: one line for each
site, not only for those with losses.
"""

from __future__ import annotations

import mimetypes
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter, deque
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote, unquote, urljoin, urlsplit

from aiohttp import web
from selectolax.lexbor import LexborHTMLParser

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from testbed.bench import command_line
from testbed.crawl import ROOT, crawl_command
from testbed.in_thread import in_thread
from testbed.real_web.counting import links, parse
from testbed.real_web.web import is_html

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

PORT = 8397
#: Longest URL that the crawler follows, see ``URLLENGTH_LIMIT``.
MAX_URL = 2083
_host = re.compile(r"[a-z0-9.-]+\.[a-z]{2,}", re.IGNORECASE).fullmatch


class Answer(NamedTuple):
    """A site's response to a path."""

    status: int
    file: Path | None = None
    location: str = ""


@dataclass
class Site:
    """A folder served on its own address. Of one crawl: ``served``, files answered with 200; ``requests``."""

    folder: Path
    address: str
    hosts: frozenset[str] = frozenset()
    prefix: str = ""
    served: Counter[Path] = field(default_factory=Counter)
    requests: int = 0

    @property
    def root(self) -> str:
        """``http://address:port``."""
        return f"http://{self.address}:{PORT}"

    @property
    def home(self) -> str:
        """URL of the home page."""
        return f"{self.root}{self.prefix}/"

    def answer(self, path: str) -> Answer:
        """The response to a decoded path, as on static hosts: folders have an index page, ``.html`` is optional."""
        if not path.startswith(self.prefix + "/"):
            return Answer(404)
        parts = [part for part in path[len(self.prefix) :].split("/") if part]
        if ".." in parts or "\0" in path or any(len(part.encode("utf-8", "surrogatepass")) > 255 for part in parts):
            return Answer(404)
        file = self.folder.joinpath(*parts)
        if file.is_dir():
            if not path.endswith("/"):
                return Answer(301, location=quote(path) + "/")
            return next(
                (Answer(200, each) for name in ("index.html", "index.htm") if (each := file / name).is_file()),
                Answer(404),
            )
        if path.endswith("/"):
            return Answer(404)
        return next(
            (Answer(200, each) for each in (file, file.with_name(file.name + ".html")) if each.is_file()), Answer(404)
        )

    def body(self, file: Path) -> bytes:
        """A file's bytes; in HTML, the site's public address is replaced."""
        data = file.read_bytes()
        if is_html(file.name):
            for host in self.hosts:
                pattern = rb"(?:https?:)?//" + re.escape(host.encode()) + rb"(?![A-Za-z0-9.:-])"
                data = re.sub(pattern, self.root.encode(), data, flags=re.IGNORECASE)
        return data

    def page(self, url: str) -> tuple[Path, str] | None:
        """The HTML file at ``url`` and its final URL after redirects; None if there is none."""
        if not url.startswith(self.root + "/") or len(url) > MAX_URL:
            return None
        for _ in range(5):
            parts = urlsplit(url)
            answer = self.answer(unquote(parts.path) or "/")
            if not answer.location:
                return (answer.file, url) if answer.file is not None and is_html(answer.file.name) else None
            url = urljoin(url, answer.location)
        return None


def site_of(folder: Path, number: int) -> Site:
    """A site with the hosts and the path prefix that its own pages state."""
    folder = folder.resolve()
    site = Site(folder, f"127.80.{number // 250}.{number % 250 + 1}")
    home = next((file for name in ("index.html", "index.htm") if (file := folder / name).is_file()), None)
    hosts, prefixes = Counter[str](), [""]
    if (folder / "CNAME").is_file():
        hosts[(folder / "CNAME").read_text(errors="replace").strip().lower()] += 1
    if home is not None:
        tree = LexborHTMLParser(home.read_bytes())
        named = [*tree.css("link[rel=canonical]"), *tree.css('meta[property="og:url"]'), *tree.css("base[href]")]
        for node in named:
            parts = _split(node.attributes.get("href") or node.attributes.get("content") or "")
            hosts[parts[0]] += 1
            prefixes.append(parts[1])
        hrefs = [node.attributes.get("href") or "" for node in tree.css("a[href]")]
        prefixes += [f"/{first}" for href in hrefs if (first := _split(href)[1].strip("/").partition("/")[0])]

        def exist(prefix: str) -> int:
            paths = [_split(href)[1] for href in hrefs if href.startswith("/") or _split(href)[0] in hosts]
            return sum(Site(folder, "", prefix=prefix).answer(unquote(path)).status != 404 for path in paths)

        site.prefix = max(dict.fromkeys(prefixes), key=exist)
    site.hosts = frozenset(host for host in hosts if _host(host))
    return site


def _split(url: str) -> tuple[str, str]:
    """Host and path without a final slash; empty strings for an invalid URL."""
    try:
        parts = urlsplit(url)
        return (parts.hostname or "").lower(), parts.path.rstrip("/")
    except ValueError:
        return "", ""


def reachable(site: Site) -> dict[Path, str]:
    """HTML files reachable from the home page, with a URL of each."""
    start = site.page(site.home)
    found: dict[Path, str] = {}
    seen: set[str] = set()
    queue = deque([start] if start is not None else [])
    while queue:
        file, url = queue.popleft()
        if file not in found:
            found[file] = url
            hrefs = {link.partition("#")[0] for link in links(parse(site.body(file)), url)} - seen
            seen |= hrefs
            targets = set(map(site.page, hrefs))
            queue.extend(sorted(target for target in targets if target is not None))
    return found


@asynccontextmanager
async def serving(sites: list[Site]) -> AsyncIterator[None]:
    by_address = {site.address: site for site in sites}

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        assert request.transport is not None
        site = by_address[request.transport.get_extra_info("sockname")[0]]
        site.requests += 1
        answer = site.answer(unquote(urlsplit(str(request.rel_url)).path))
        if answer.location:
            return web.Response(status=answer.status, headers={"Location": answer.location})
        if answer.file is None:
            return web.Response(status=404, text="<title>404</title>not found", content_type="text/html")
        site.served[answer.file] += 1
        kind = mimetypes.guess_type(answer.file.name)[0] or "application/octet-stream"
        return web.Response(body=site.body(answer.file), headers={"Content-Type": kind})

    runner = web.ServerRunner(web.Server(handle))
    await runner.setup()
    for site in sites:
        await web.TCPSite(runner, site.address, PORT).start()
    yield
    await runner.cleanup()


def crawl(sites: list[Site], settings: dict[str, object], timeout: int) -> float:
    """Crawl all sites at once; returns seconds. Updates ``served`` and ``requests`` of each site."""
    for site in sites:
        site.served.clear()
        site.requests = 0
    given = {
        **{"FRONTIER_DELAY_FACTOR": 0, "FRONTIER_MIN_DELAY": 0, "FRONTIER_MAX_DELAY": 0, "ROBOTSTXT_OBEY": False},
        **{"FRONTIER_ALLOWED_NETWORKS": "127.0.0.0/8", "CLOSESPIDER_TIMEOUT": timeout, "FRONTIER_QUALITY": "in-links"},
        "FRONTIER_LOG_BRIEF": False,
        **settings,
    }
    with tempfile.TemporaryDirectory() as name:
        seeds, log = Path(name, "seeds"), Path(name, "log")
        seeds.write_text("".join(f"{site.home}\n" for site in sites))
        command = [*crawl_command([str(seeds)], given), "-a", "allowed=" + ",".join(site.address for site in sites)]
        start = time.monotonic()
        with log.open("w") as output:
            subprocess.run(command, cwd=ROOT, stderr=output, stdout=subprocess.DEVNULL, check=True)
        text = log.read_text(errors="replace")
        for line in re.findall(r".*\[crawlproject\.discovery\.trap_guard\].*", text):
            print(line)
        if "'finish_reason': 'finished'" not in text:
            print(f"not finished: {re.findall('.*finish_reason.*', text)}")
        return time.monotonic() - start


def main() -> None:
    parser = command_line(__doc__, timeout=1800, least=20, all=False)
    parser.add_argument("folders", nargs="+", type=Path)
    args = parser.parse_args()
    sites = [site_of(folder, number) for number, folder in enumerate(_folders(args.folders))]
    counts = {site.address: reachable(site) for site in sites}
    sites = [site for site in sites if len(counts[site.address]) >= args.least]
    total = sum(len(counts[site.address]) for site in sites)
    print(f"{len(sites)} sites with {total:,} reachable pages", flush=True)
    with in_thread(serving(sites)):
        off_time = crawl(sites, {"FRONTIER_GUARD_ENABLED": False}, args.timeout)
        off = {site.address: (set(site.served), site.requests) for site in sites}
        on_time = crawl(sites, {}, args.timeout)
    print(f"{'site':40} {'reachable':>9} {'found off':>9} {'on':>7} {'lost':>5} {'requests off':>12} {'on':>7}")
    sums = Counter[str]()
    for site in sites:
        pages, (fetched, requests) = counts[site.address], off[site.address]
        found_off, found_on = pages.keys() & fetched, pages.keys() & site.served.keys()
        lost = (fetched - site.served.keys()) & {file for file in fetched if is_html(file.name)}
        row = {"reachable": len(pages), "off": len(found_off), "on": len(found_on), "lost": len(lost)}
        row |= {"requests_off": requests, "requests_on": site.requests}
        sums.update(row)
        if args.all or lost or len(found_on) < len(found_off):
            print(_line(site.folder.name[:40], row))
            print("".join(f"    lost: {pages.get(file, file)}\n" for file in sorted(lost)[:5]), end="")
    print(_line("all", sums))
    print(f"off: {off_time:.0f} s, on: {on_time:.0f} s")


def _line(name: str, row: dict[str, int] | Counter[str]) -> str:
    return (
        f"{name:40} {row['reachable']:>9,} {row['off']:>9,} {row['on']:>7,} {row['lost']:>5,} "
        f"{row['requests_off']:>12,} {row['requests_on']:>7,}"
    )


def _folders(given: Iterable[Path]) -> list[Path]:
    """The given folders, and those listed in the given files."""
    folders: list[Path] = []
    for path in given:
        lines = [path] if path.is_dir() else [Path(line.strip()) for line in path.read_text().splitlines() if line]
        folders += [each for each in lines if each.is_dir()]
    return folders


if __name__ == "__main__":
    main()
