"""``scrapy console TARGET ACTION``: the control room of a running crawl, for scripts (docs/watch.md)."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.parse import parse_qs, urlencode, urlsplit
from urllib.request import ProxyHandler, Request, build_opener

from scrapy.commands import ScrapyCommand
from scrapy.exceptions import UsageError

from crawlproject.commands.described import Described

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
    from collections.abc import Iterator

#: Action -> its arguments, and its effect.
ACTIONS = {
    "status": ("", "figures and orders in force"),
    "servers": ("", "a page of the table of servers; see its options below"),
    "server": ("NAME", "one server: its best URLs, its rank term by term, its last answers, its robots.txt"),
    "urls": ("", "a page of URLs; see its options below, and --next for the next page"),
    "url": ("URL", "what became of one URL, with its history"),
    "workers": ("", "all workers of a crawl over Redis, and the last actions"),
    "spiders": ("[reload]", "several spiders of one crawl; reload: load new and changed spiders and rules"),
    "stats": ("", "all stats, sorted"),
    "log": ("", "the last lines of the log"),
    "pause": ("", "start no further request"),
    "resume": ("", "end the pause"),
    "stop": ("", "end the crawl as Ctrl-C does"),
    "limit": ("NAME VALUE", "another limit (sessions, pages, time, depth, server, domain); 0: none; -: the setting"),
    "exclude": ("PATTERN", "delete the queued URLs of a pattern, and fetch none that is found later"),
    "include": ("PATTERN", "follow links to URLs of such patterns only"),
    "raise": ("PATTERN", "fetch URLs of a pattern before the others of their servers"),
    "lower": ("PATTERN", "fetch URLs of a pattern after the others of their servers"),
    "undo": ("KIND PATTERN", "undo exclude, include, raise or lower"),
    "fetch": ("URL", "fetch this URL next of its server, also if it was fetched before"),
    "delay": ("NAME SECONDS", "at least SECONDS between two requests to a server or to each of a domain; 0: none"),
    "block": ("NAME", "no request to a server or domain; its URLs stay queued"),
    "unblock": ("NAME", "undo block"),
    "release": ("NAME", "the guard no longer judges this server or domain"),
    "seeds": ("URL... | -", "queue seeds; -: from standard input, one a line"),
}

#: Sent to each of several workers; all others go to one, because all workers obey the same orders.
OF_ALL = frozenset(("status", "servers", "server", "urls", "url", "spiders", "stats", "log"))

#: Options of a query.
QUERIES = {
    "servers": ("search", "state", "sort", "order", "offset", "limit"),
    "urls": ("search", "host", "spider", "state", "reason", "status", "depth", "next", "limit"),
}

#: Action -> the fields of its body, and their types. The others take a name.
FIELDS: dict[str, tuple[tuple[str, type], ...]] = {
    "pause": (),
    "resume": (),
    "stop": (),
    "limit": (("name", str), ("value", int)),
    "delay": (("name", str), ("seconds", float)),
    "fetch": (("url", str),),
}

#: Kinds of patterns.
KINDS = ("exclude", "include", "raise", "lower")

#: Seconds that the console may take to answer.
TIMEOUT = 30.0

#: Bytes of the URLs of one request: the console refuses longer bodies (``MAX_BODY`` of ``monitor.console.api``).
SEED_BYTES = 90_000


class Command(Described, ScrapyCommand):
    """Prints the answer as JSON; without an answer, one line on standard error and exit code 1."""

    requires_project = False
    requires_crawler_process = False
    default_settings = {"LOG_ENABLED": False}
    usage = "<URL of the console, or JOBDIR> <action> [arguments]"
    summary = "Watch and steer a running crawl (FRONTIER_CONSOLE_PORT)"
    explanation = (
        "Query or steer a running crawl, by the URL of its console (as it has logged it) or by its JOBDIR. An action "
        "sent to one worker of a crawl over Redis is obeyed by all. Given the JOBDIR of scrapy workers, a query is "
        "answered by each worker. Actions: "
        + "; ".join(f"{name} {arguments}".rstrip() + f": {does}" for name, (arguments, does) in ACTIONS.items())
        + ". The token is part of the URL, or in "
        "the environment variable CRAWLPROJECT_TOKEN, or in the file that the crawl has written."
    )

    def add_options(self, parser: ArgumentParser) -> None:
        super().add_options(parser)
        group = parser.add_argument_group(title="Options of servers and urls")
        group.add_argument("--search", metavar="TEXT", help="part of the server's address, or pattern of the URL")
        group.add_argument("--state", help="of servers: such as ready, failing; of URLs: queued, fetched, lost")
        group.add_argument("--sort", help="server, rank, urls, quality, pages, response_time, failures, next")
        group.add_argument("--order", choices=("asc", "desc"))
        group.add_argument("--offset", type=int, metavar="N")
        group.add_argument("--limit", type=int, metavar="N", help="at most 200")
        group.add_argument("--host", metavar="NAME", help="URLs of a server, host or domain")
        group.add_argument("--spider", metavar="NAME", help="URLs of one of several spiders")
        group.add_argument("--reason", help="what became of URLs, as in scrapy frontier --refused")
        group.add_argument("--status", type=int, metavar="N", help="URLs that were answered with this status")
        group.add_argument("--depth", type=int, metavar="N", help="URLs so many links from a seed")
        group.add_argument("--next", metavar="PLACE", help="where the page before ended")

    def run(self, args: list[str], opts: Namespace) -> None:
        from crawlproject.storage.errors import plain_message

        if len(args) < 2 or args[1] not in ACTIONS:
            unknown = f"unknown action {args[1]!r:.100}; " if len(args) > 1 else ""
            raise UsageError(f"{unknown}actions: {', '.join(ACTIONS)}", print_help=False)
        target, action, *rest = args
        try:
            path, bodies = _request(action, rest, opts)
            workers = _workers_in(target)
            for body in bodies:
                if workers:
                    self._ask_all(workers, action, path, body)
                else:
                    print(_shown(_ask(*_address(target), path, body)))  # noqa: T201
                if self.exitcode:
                    break
        except (OSError, ValueError) as error:
            self.fail(f"scrapy console: {plain_message(error)}")

    def _ask_all(self, workers: list[Path], action: str, path: str, body: dict[str, Any] | None) -> None:
        """Print the answer of each worker; of an action, that of the first worker that carries it out.

        Exit code 1 if one could not be asked, or none knows the server; for an action, if none could or it is refused.
        """
        from crawlproject.storage.errors import plain_message

        answers, failures = {}, []
        for folder in workers:
            try:
                answers[folder.name] = _ask(*_ticket(_ticket_in(folder)), path, body)
            except (OSError, ValueError) as error:
                failures.append(f"{folder.name}: {plain_message(error)}")
            if answers and action not in OF_ALL:
                failures = []
                break
        if answers:
            print(_shown(answers))  # noqa: T201
        if not answers or action != "server":  # one worker has the server
            for failure in failures:
                self.fail(f"scrapy console: {failure}")


def _request(action: str, rest: list[str], opts: Namespace) -> tuple[str, list[dict[str, Any] | None]]:
    """Path below ``/api/``, and the body of each request; None: a query. Raises UsageError for wrong arguments."""
    wanted = ACTIONS[action][0]
    is_free = (action == "seeds" and rest) or (action == "spiders" and rest in ([], ["reload"]))
    if not is_free and len(rest) != len(wanted.split()):
        raise UsageError(f"expected {action} {wanted}".strip(), print_help=False)
    if action == "seeds":
        urls = [line.strip() for line in sys.stdin if line.strip()] if rest == ["-"] else rest
        return action, [{"urls": portion} for portion in _portions(urls)]
    if action == "spiders":
        return action, [{"change": rest[0]} if rest else None]
    if action in QUERIES:
        given = {name: value for name in QUERIES[action] if (value := getattr(opts, name)) is not None}
        return f"{action}?{urlencode(given)}", [None]
    if action in ("server", "url"):
        return f"{action}?{urlencode({'key' if action == 'server' else 'url': rest[0]})}", [None]
    if action in OF_ALL or action == "workers":
        return ("state" if action == "status" else action), [None]
    if action in KINDS or action == "undo":
        kind, pattern = rest if action == "undo" else (action, rest[0])
        return "pattern", [{"kind": kind, "pattern": pattern, "on": action != "undo"}]
    try:
        fields = zip(FIELDS.get(action, (("name", str),)), rest, strict=True)
        return action, [{name: None if text == "-" else kind(text) for (name, kind), text in fields}]
    except ValueError as error:
        raise UsageError(f"{action}: {error}", print_help=False) from None


def _portions(urls: list[str]) -> Iterator[list[str]]:
    """``urls`` in lists that fit into a request each; at least one list."""
    portion: list[str] = []
    size = 0
    for url in urls:
        more = len(json.dumps(url)) + 2
        if portion and size + more > SEED_BYTES:
            yield portion
            portion, size = [], 0
        portion.append(url)
        size += more
    yield portion


def _address(target: str) -> tuple[str, str]:
    """(URL, token) of a console. Raises ValueError or OSError if they cannot be found."""
    given = os.environ.get("CRAWLPROJECT_TOKEN", "")
    if "://" not in target:
        path = Path(target)
        url, token = _ticket(_ticket_in(path) if path.is_dir() else path)
        return url, given or token
    parts = urlsplit(target)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"not the URL of a console: {target!r}")
    token = given or parse_qs(parts.fragment).get("token", [""])[0]
    url = f"{parts.scheme}://{parts.netloc}/"
    if not token:
        from crawlproject.monitor.console.access import ticket_path

        path = ticket_path(parts.port or 80)
        if not path.exists():
            raise ValueError("no token: use the link in the log, JOBDIR, or the variable CRAWLPROJECT_TOKEN")
        token = _ticket(path)[1]
    return url, token


def _workers_in(target: str) -> list[Path]:
    """The workers' own directories in the JOBDIR of ``scrapy workers`` whose console was opened, in order."""
    from crawlproject.monitor.report.joint import WORKER_FOLDERS, in_order

    if "://" in target:
        return []
    found = {path.parent for path in Path(target).glob(f"{WORKER_FOLDERS}/console-*.json")}
    return in_order(found)


def _ticket_in(job: Path) -> Path:
    from psutil import pid_exists

    found = [path for path in job.glob("console-*.json") if pid_exists(int(json.loads(path.read_text())["pid"]))]
    if len(found) != 1:
        raise ValueError(f"{job}: {len(found) or 'no'} console{'s are' if found else ' is'} open there")
    return found[0]


def _ticket(path: Path) -> tuple[str, str]:
    if not path.exists():
        raise ValueError(f"{path}: no console is open there")
    found = json.loads(path.read_text(encoding="utf-8"))
    return str(found["url"]), str(found["token"])


def _shown(answer: Any) -> str:
    """Indented JSON; of control characters and marks of direction, which strangers' text may have, the escapes."""
    text = json.dumps(answer, indent=1, ensure_ascii=False)
    escaped = "[\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
    return re.sub(escaped, lambda match: f"\\u{ord(match[0]):04x}", text)


def _ask(url: str, token: str, path: str, body: dict[str, Any] | None) -> Any:
    """The answer. Raises OSError, or ValueError with the console's message."""
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    opener = build_opener(ProxyHandler({}))
    try:
        with opener.open(Request(f"{url}api/{path}", data, headers), timeout=TIMEOUT) as answer:
            return json.load(answer)
    except HTTPError as error:
        try:
            reason = json.load(error)["error"]
        except (ValueError, KeyError, TypeError):
            reason = f"status {error.code}"
        raise ValueError(reason) from None
    except URLError as error:
        raise ConnectionError(f"{url}: no console answers there: {error.reason}") from None
