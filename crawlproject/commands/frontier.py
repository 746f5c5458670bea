"""``scrapy frontier JOBDIR``: shows a crawl's queues, and why servers rank as they do; also while the crawl runs.

``scrapy frontier redis://HOST:6379/0``: the same of a crawl by many workers, and the workers.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from crawlproject.commands.described import Described, server_option

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

    from scrapy.settings import BaseSettings

    from crawlproject.commands.frontier_report import FrontierReport
    from crawlproject.options.scheduling import FrontierOptions

#: Columns of the table of servers: key, title, format.
COLUMNS = (
    ("rank", "rank", "{:>9.4g}"),
    ("urls", "urls", "{:>7}"),
    ("batch", "batch", "{:>5}"),
    ("best_quality", "best", "{:>8.4g}"),
    ("batch_quality", "sum", "{:>8.4g}"),
    ("bonus", "bonus", "{:>7.3g}"),
    ("connect_time", "connect", "{:>7.3f}"),
    ("response_time", "respond", "{:>7.3f}"),
    ("worth", "worth", "{:>5.2f}"),
    ("urgency", "urgent", "{:>6.2f}"),
    ("session_time", "session", "{:>7.2f}"),
    ("wait", "wait", "{:>6.1f}"),
    ("server", "server", "{}"),
)

#: States of URLs.
URL_STATES = ("queued", "fetched", "lost")

#: Values of ``--state``: those of ``monitor.server_state`` that a stored server has.
STATES = ("ready", "resting", "waiting", "idle", "given up")


#: Options of a search of URLs, besides ``--server`` and ``--state``.
SEARCH = ("search", "reason", "status", "depth", "spider")

#: State of a URL that a worker has found and its owner has not read yet.
WAITS = "found: on its way to the worker of its server"


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
        parser.add_argument("--key", help="the crawl in Redis (default: FRONTIER_REDIS_KEY, or web)")
        parser.add_argument("--server", metavar="HOST", help="only: scheme://host[:port], host[:port] or domain")
        parser.add_argument(
            "--state",
            type=lambda text: text.replace("-", " "),
            metavar="STATE",
            choices=(*STATES, *URL_STATES),
            help="only servers that are ready, resting, waiting, idle or given-up, with the reason; of URLs: queued, "
            "fetched, lost",
        )
        parser.add_argument("--url", metavar="URL", help="what became of this URL, and its server")
        parser.add_argument(
            "--refused", action="store_true", help="what became of all URLs: counts by reason, examples"
        )
        parser.add_argument("--search", metavar="PATTERN", help="URLs of a pattern, queued or ended; * for anything")
        parser.add_argument("--reason", help="URLs that ended so, as in --refused")
        parser.add_argument("--status", metavar="N", help="URLs that were answered with this status")
        parser.add_argument("--depth", metavar="N", help="URLs so many links from a seed")
        parser.add_argument("--spider", metavar="NAME", help="URLs of one of several spiders")
        parser.add_argument("--csv", action="store_true", help="print the URLs found as CSV; --json: as JSON lines")
        parser.add_argument("--urls", action="store_true", help="also show the queued URLs of these servers")
        parser.add_argument("--limit", type=int, default=20, help="maximum servers, and URLs of each (default: 20)")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def run(self, args: list[str], opts: Namespace) -> None:
        """Print the report; raises UsageError without JOBDIR; exit code 1 if it has no readable frontier."""
        from crawlproject.commands.frontier_report import UNKNOWN
        from crawlproject.options.project_rules import apply_preset
        from crawlproject.options.scheduling import FrontierOptions
        from crawlproject.storage.errors import StoreError

        if len(args) != 1:
            raise UsageError("expected exactly one directory, the crawl's JOBDIR or FRONTIER_DIR, or the URL of Redis")
        if opts.limit < 1:
            raise UsageError(f"--limit={opts.limit}: must be 1 or more")
        if opts.key and not _is_url(args[0]):
            raise UsageError(f"--key={opts.key!r:.200}: names a crawl in Redis, and {args[0]!r} is a directory")
        assert self.settings is not None
        if any(getattr(opts, name) is not None for name in SEARCH) or opts.state in URL_STATES:
            self._search(args[0], opts)
            return
        if opts.server:
            opts.server = server_option(opts.server)
        if opts.url:
            opts.url, opts.server = _canonical(opts.url, self.settings)
        try:
            apply_preset(self.settings)
            options = FrontierOptions.from_settings(self.settings)
            if _is_url(args[0]):
                answer = _in_redis(args[0], opts, self.settings, options)
            else:
                answer = _on_disk(Path(args[0]), opts, options)
        except ValueError as error:
            raise UsageError(str(error), print_help=False) from error
        except StoreError as error:
            self.fail(str(error))
            return
        if opts.url and answer["url_state"] == UNKNOWN:
            answer = _refused_now(opts.url, self.settings) | answer
        if opts.server and not answer["top_servers"] and not opts.url and not opts.refused:
            place = f"the crawl in {args[0].partition('://')[0]}" if _is_url(args[0]) else args[0]
            self.fail(f"{place}: no URL of {opts.server!r} is known (for one page: --url)")
        sys.stdout.write(json.dumps(answer, indent=1) + "\n" if opts.json else _text(answer))

    def _search(self, target: str, opts: Namespace) -> None:
        """Print the URLs that are asked for, as they are found."""
        from crawlproject.commands.frontier_report import found_urls, url_lines
        from crawlproject.storage.errors import StoreError

        if _is_url(target):
            raise UsageError("of workers, search by scrapy console JOBDIR urls", print_help=False)
        given = {name: value for name in (*SEARCH, "state") if (value := getattr(opts, name)) is not None}
        form = "csv" if opts.csv else "json" if opts.json else "text"
        try:
            for line in url_lines(found_urls(_directory(Path(target)), given, opts.server), form):
                sys.stdout.write(line)
        except ValueError as error:
            raise UsageError(str(error), print_help=False) from error
        except StoreError as error:
            self.fail(str(error))


def _is_url(name: str) -> bool:
    return "://" in name


def _canonical(url: str, settings: BaseSettings) -> tuple[str, str]:
    from crawlproject.options.following import LinkOptions
    from crawlproject.urls import server_key

    canonical = LinkOptions.from_settings(settings).canonicalizer.canonical(url)
    if canonical is None:
        raise UsageError(f"--url={url!r:.200}: must be a URL that begins with http:// or https://", print_help=False)
    return canonical, server_key(canonical)


def _refused_now(url: str, settings: BaseSettings) -> dict[str, Any]:
    """Why the settings refuse the canonical ``url``, which was never queued; they do not say what the spider allows."""
    from crawlproject.options.following import LinkOptions
    from crawlproject.options.limits import LimitOptions
    from crawlproject.urls import LinkFilter
    from crawlproject.urls.fates import Stage

    links, denied = LinkOptions.from_settings(settings), LimitOptions.from_settings(settings).denied
    # whether an extension is followed depends on the server
    rules = LinkFilter(denied=denied, include=links.include, exclude=links.exclude, extensions=frozenset())
    reason = rules.reason(url)
    return {} if reason is None else {"refused_now": f"{Stage.LINK}/{reason}: {reason.words} {reason.change}"}


def _on_disk(path: Path, opts: Namespace, options: FrontierOptions) -> dict[str, Any]:
    from crawlproject.commands.frontier_report import frontier_on_disk

    with frontier_on_disk(_directory(path), options) as report:
        about = report.url(opts.url) if opts.url else {}
        ends = {"ends": report.ends()} if opts.refused else {}
        return {**report.counts(), **about, **ends, "top_servers": [] if opts.refused else _servers(report, opts)}


def _in_redis(url: str, opts: Namespace, settings: BaseSettings, options: FrontierOptions) -> dict[str, Any]:
    from crawlproject.commands import frontier_report
    from crawlproject.commands.frontier_report import UNKNOWN, FrontierReport
    from crawlproject.urls.fates import Fates
    from crawlproject.workers.local import LocalCopy

    frontier, fates = options.new_frontier(), Fates()

    def new_copy(partitions: Any, path: Path, label: Any, now: float) -> LocalCopy:
        return LocalCopy(frontier, partitions, path, label, lambda: now, indexed=False, fates=fates)

    with frontier_report.crawl_in_redis(url, opts.key, settings, new_copy, opts.url or "") as crawl:
        report = FrontierReport(
            frontier,
            crawl.copy.servers.rows,
            crawl.label,
            crawl.marks.total(),
            crawl.now,
            lambda _: crawl.url_mark,
            lambda: crawl.marks,
            fates,
        )
        fates.restore({"links": frontier_report.links_refused(crawl)})
        servers = [{**server, **frontier_report.place(crawl, server["server"])} for server in _servers(report, opts)]
        about = report.counts()
        if opts.url:  # only its partition was read
            about = {**report.url(opts.url), **frontier_report.place(crawl, opts.url)}
            if crawl.url_waits and about["url_state"] == UNKNOWN:
                about["url_state"] = WAITS
        counts = frontier_report.crawl_counts(crawl)
        answer = {**counts, **about, "pages": counts["pages"], "workers": frontier_report.workers(crawl)}
        shares = {"shares": frontier_report.partitions(crawl)} if opts.json else {}
        ends = {"ends": report.ends()} if opts.refused else {}
        return {**answer, **shares, **ends, "top_servers": [] if opts.refused else servers}


def _directory(path: Path) -> Path:
    """The store's directory: ``frontier`` in a JOBDIR, otherwise ``path`` itself."""
    inner = path / "frontier"
    return inner if inner.is_dir() else path


def _servers(report: FrontierReport, opts: Namespace) -> list[dict[str, Any]]:
    servers = report.servers(opts.server, opts.state)[: opts.limit]
    if opts.urls:
        servers = [{**server, "queue": report.top_urls(server["server"], opts.limit)} for server in servers]
    return servers


def _text(answer: dict[str, Any]) -> str:
    from crawlproject.commands.frontier_report import ends_table, workers_table

    lines = [f"{name.replace('_', ' '):17} {value}" for name, value in answer.items() if not isinstance(value, list)]
    lines += workers_table(answer.get("workers", []))
    lines += ends_table(answer.get("ends", []))
    if answer["top_servers"]:
        lines += ["", " ".join(_title(form, title) for _, title, form in COLUMNS)]
    for server in answer["top_servers"]:
        note = _note(server)
        note += f" (guarded: {server['guarded']})" if server["guarded"] else ""
        note += (
            f" (URLs that come last, nothing new on pages like theirs: {server['doubted']})"
            if server["doubted"]
            else ""
        )
        note += f" (traps: {', '.join(server['traps'])})" if server["traps"] else ""
        if "partition" in server:
            note += f" (partition {server['partition']}: {server['owner'] or 'no owner'})"
        lines.append(" ".join(_cell(form, server[key]) for key, _, form in COLUMNS) + note)
        lines += [f"{url['quality']:>12.4g}  {url['url']}" for url in server.get("queue", ())]
    return "\n".join(lines) + "\n"


def _note(server: dict[str, Any]) -> str:
    if server["state"] == "ready":
        return ""
    at = f", allowed at {server['allowed_at']}" if server["wait"] is not None else ""
    reason = f": {server['reason']}" if server["reason"] else ""
    return f" ({server['state']}{at}{reason})"


def _cell(form: str, value: Any) -> str:
    return _title(form, "-") if value is None else form.format(value)


def _title(form: str, title: str) -> str:
    width = form.partition(">")[2].rstrip("}").partition(".")[0]
    return title.rjust(int(width or 0))
