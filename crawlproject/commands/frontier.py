"""``scrapy frontier JOBDIR``: shows a crawl's queues, and why servers rank as they do; also while the crawl runs.

``scrapy frontier redis://HOST:6379/0``: the same of a crawl by many workers, and the workers.
"""

from __future__ import annotations

import json
import sys
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from crawlproject.commands.described import Described

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator, Mapping

#: Columns of the table of servers: key -> title, width, format of a value.
SERVER_COLUMNS = {
    "rank": ("rank", 9, ".4g"),
    "urls": ("urls", 7, ""),
    "batch": ("batch", 5, ""),
    "best_quality": ("best", 8, ".4g"),
    "batch_quality": ("sum", 8, ".4g"),
    "bonus": ("bonus", 7, ".3g"),
    "connect_time": ("connect", 7, ".3f"),
    "response_time": ("respond", 7, ".3f"),
    "worth": ("worth", 5, ".2f"),
    "session_time": ("session", 7, ".2f"),
    "wait": ("wait", 6, ".1f"),
    "server": ("server", 0, ""),
}
#: Widths of the columns of the table of workers.
WORKER_COLUMNS = {
    "host": 15,
    "pid": 8,
    "since": 25,
    "pages": 9,
    "partitions": 10,
    "sessions": 8,
    "lag": 6,
    "lease": 6,
    "worker": 0,
}

#: Values of ``--state``: those of ``monitor.server_state`` that a stored server has, and states of URLs.
STATES = ("ready", "resting", "waiting", "idle", "given up")
URL_STATES = ("queued", "fetched", "lost")

#: Options of a search of URLs, besides ``--server`` and ``--state``.
SEARCH = ("search", "reason", "status", "depth", "spider")


class Command(Described, ScrapyCommand):
    """Does not change the frontier."""

    requires_crawler_process = False
    usage = "[options] <JOBDIR or URL of Redis>"
    summary = "Show the queues of a crawl's frontier, and how servers rank"
    explanation = (
        "Show the last committed state of the frontier in a JOBDIR (or FRONTIER_DIR): numbers of URLs and servers "
        "by state, and the best servers with each term of their rank. Times in seconds. The crawl may be running. "
        "--url shows what became of a URL, why, and what to change. --refused counts URLs by what became of them. "
        "--state given-up and --state resting also show the reason. "
        "Of a crawl by many workers, give the URL of its Redis, as in REDIS_URL, and its --key: adds the workers "
        "(lag: seconds since Redis confirmed its last changes; lease: seconds until others may take over), "
        "partitions without a live owner, messages that wait in inboxes, and who owns a server. "
        "Nothing is written to Redis."
    )

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        add = parser.add_argument
        add("--key", help="the crawl in Redis (default: FRONTIER_REDIS_KEY, or web)")
        add("--server", metavar="HOST", help="only: scheme://host[:port], host[:port] or domain")
        add(
            "--state",
            type=lambda text: text.replace("-", " "),
            metavar="STATE",
            choices=(*STATES, *URL_STATES),
            help="only servers that are ready, resting, waiting, idle or given-up, with the reason; of URLs: queued, "
            "fetched, lost",
        )
        add("--url", metavar="URL", help="what became of this URL, and its server")
        add("--refused", action="store_true", help="what became of all URLs: counts by reason, examples")
        add("--search", metavar="PATTERN", help="URLs of a pattern, queued or ended; * for anything")
        add("--reason", help="URLs that ended so, as in --refused")
        add("--status", metavar="N", help="URLs that were answered with this status")
        add("--depth", metavar="N", help="URLs so many links from a seed")
        add("--spider", metavar="NAME", help="URLs of one of several spiders")
        add("--csv", action="store_true", help="print the URLs found as CSV; --json: as JSON lines")
        add("--urls", action="store_true", help="also show the queued URLs of these servers")
        add("--limit", type=int, default=20, help="maximum servers, and URLs of each (default: 20)")
        add("--json", action="store_true", help="print one JSON object")

    def run(self, args: list[str], opts: Namespace) -> None:
        """Print the report; raises UsageError for wrong arguments; exit code 1 if there is no readable frontier."""
        from crawlproject.storage.errors import StoreError

        if len(args) != 1:
            raise UsageError("expected exactly one directory, the crawl's JOBDIR or FRONTIER_DIR, or the URL of Redis")
        try:
            if opts.state in URL_STATES or any(getattr(opts, name) is not None for name in SEARCH):
                sys.stdout.writelines(_search(args[0], opts))
            else:
                self._report(args[0], opts)
        except ValueError as error:
            raise UsageError(str(error), print_help=False) from error
        except StoreError as error:
            self.fail(str(error))

    def _report(self, target: str, opts: Namespace) -> None:
        from crawlproject.commands import frontier_report
        from crawlproject.options.following import LinkOptions
        from crawlproject.options.scheduling import FrontierOptions
        from crawlproject.urls.fates import Fates
        from crawlproject.urls.server_key import server_key, server_name

        assert self.settings is not None
        server, url = server_name(opts.server.rstrip("/")) if opts.server else None, ""
        if opts.url:
            url = LinkOptions.from_settings(self.settings).canonicalizer.canonical(opts.url) or ""
            if not url:
                raise ValueError(f"--url={opts.url!r:.200}: must be a URL that begins with http:// or https://")
            server = server_key(url)
        options = FrontierOptions.from_settings(self.settings)
        if _is_url(target):
            from crawlproject.workers.local import LocalCopy

            def new_copy(partitions: Any, path: Path, label: Any, now: float) -> LocalCopy:
                return LocalCopy(frontier, partitions, path, label, lambda: now, indexed=False, fates=fates)

            frontier, fates = options.new_frontier(), Fates()
            opened = frontier_report.in_redis(target, opts.key, self.settings, (frontier, fates, new_copy), url)
        else:
            opened = frontier_report.on_disk(_directory(target), options)
        with opened as report:
            answer = {**report.counts(), **(report.url(url) if url else {})}
            if opts.refused:
                answer |= {"ends": report.ends(), "top_servers": []}
            else:
                servers = report.servers(server, opts.state)[: max(1, opts.limit)]
                if opts.urls:
                    for each in servers:
                        each["queue"] = list(islice(report.urls(each["server"]), opts.limit))
                answer["top_servers"] = servers
                if server and not servers and not url:
                    self.fail(f"no URL of {server!r} is known there (for one page: --url)")
        sys.stdout.write(json.dumps(answer, indent=1) + "\n" if opts.json else _text(answer))


def _is_url(target: str) -> bool:
    return "://" in target


def _directory(target: str) -> Path:
    """The store's directory: ``frontier`` in a JOBDIR, otherwise ``target`` itself."""
    inner = Path(target, "frontier")
    return inner if inner.is_dir() else Path(target)


def _search(target: str, opts: Namespace) -> Iterator[str]:
    """The lines of the URLs that are asked for."""
    from crawlproject.commands.frontier_report import found_urls, url_lines

    if _is_url(target):
        raise ValueError("of workers, search by scrapy console JOBDIR urls")
    given = {name: value for name in (*SEARCH, "state") if (value := getattr(opts, name)) is not None}
    form = "csv" if opts.csv else "json" if opts.json else "text"
    return url_lines(found_urls(_directory(target), given, opts.server), form)


def _text(answer: Mapping[str, Any]) -> str:
    lines = [f"{name.replace('_', ' '):17} {value}" for name, value in answer.items() if not isinstance(value, list)]
    if workers := answer.get("workers"):
        lines += ["", " ".join(f"{name:>{width}}" for name, width in WORKER_COLUMNS.items())]
        for each in workers:
            shown = {name: "" if each[name] is None else each[name] for name in WORKER_COLUMNS}
            lines.append(" ".join(f"{shown[name]:>{width}}" for name, width in WORKER_COLUMNS.items()))
    for row in answer.get("ends", []):
        what = f"{row['url_state']} {row.get('change', '')}".rstrip()
        lines.append(f"{row['count']:>9}  {row['stage']}/{row['reason']}: {what}")
        lines += [f"{'':11}{url}" for url in row["examples"]]
    if answer["top_servers"]:
        lines += ["", " ".join(f"{title:>{width}}" for title, width, _ in SERVER_COLUMNS.values())]
    for server in answer["top_servers"]:
        cells = (
            f"{'-':>{width}}" if server[key] is None else f"{server[key]:>{width or ''}{form}}"
            for key, (_, width, form) in SERVER_COLUMNS.items()
        )
        lines.append(" ".join(cells) + "".join(f" ({note})" for note in _notes(server)))
        lines += [f"{url['quality']:>12.4g}  {url['url']}" for url in server.get("queue", ())]
    return "\n".join(lines) + "\n"


def _notes(server: Mapping[str, Any]) -> Iterator[str]:
    if server["state"] != "ready":
        at = f", allowed at {server['allowed_at']}" if server["wait"] is not None else ""
        yield f"{server['state']}{at}" + (f": {server['reason']}" if server["reason"] else "")
    if server["doubted"]:
        yield f"URLs that come last, nothing new on pages like theirs: {server['doubted']}"
    if server["traps"]:
        yield f"traps: {', '.join(server['traps'])}"
    if "partition" in server:
        yield f"partition {server['partition']}: {server['owner'] or 'no owner'}"
