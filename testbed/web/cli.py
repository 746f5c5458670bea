"""The command line: serves a web, or a shop that needs its scripts, until stopped."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import signal
import sys
from contextlib import suppress
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from .server import LocalWeb
from .spec import WebSpec
from .web import build_web

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit code: 0, or 2 for invalid arguments."""
    parser = _parser()
    arguments = parser.parse_args(argv)
    command: Callable[[argparse.Namespace], int] = arguments.command
    try:
        return command(arguments)
    except (OSError, ValueError) as error:
        print(f"{parser.prog}: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    """The commands and their options; a web's options come from the fields of `WebSpec`."""
    parser = argparse.ArgumentParser(prog="local_web.py", description="An emulated web on loopback addresses.")
    commands = parser.add_subparsers(required=True)
    serve = commands.add_parser("serve", help="serve a web until SIGTERM or SIGINT")
    serve.set_defaults(command=_serve)
    serve.add_argument("--spec", metavar="JSON", help="a complete spec; other options of the web override it")
    serve.add_argument("--log", metavar="FILE", help="write the access log to FILE")
    serve.add_argument("--scores", metavar="FILE", help="write URL<TAB>quality of every page to FILE")
    read = "read limits of the pages for a client from standard input, a number a line; also stop at its end"
    serve.add_argument("--until-eof", action="store_true", help=read)
    _add_spec_options(serve.add_argument_group("the web"))
    shop = commands.add_parser("shop", help="serve a small shop whose pages exist only after their scripts ran")
    shop.set_defaults(command=_shop)
    shop.add_argument("--port", type=int, default=8090)
    shop.add_argument("--pages", type=int, default=12)
    return parser


def _add_spec_options(group: argparse._ArgumentGroup) -> None:
    """Add an option per field of a spec, without default."""
    for each in fields(WebSpec):
        option = "--" + each.name.replace("_", "-")
        text = f"{each.metadata['help']} ({each.default})".replace("%", "%%")
        if isinstance(each.default, bool):
            group.add_argument(option, action=argparse.BooleanOptionalAction, default=argparse.SUPPRESS, help=text)
        else:
            metavar = type(each.default).__name__.upper()
            group.add_argument(option, type=type(each.default), default=argparse.SUPPRESS, help=text, metavar=metavar)


def _spec(arguments: argparse.Namespace) -> WebSpec:
    """The spec in --spec, with fields overridden by their options."""
    given = vars(arguments)
    changes = {each.name: given[each.name] for each in fields(WebSpec) if each.name in given}
    return replace(WebSpec.from_json(arguments.spec or "{}"), **changes)


def _serve(arguments: argparse.Namespace) -> int:
    """Serve the web; records are not kept in memory."""
    local = LocalWeb(build_web(_spec(arguments)), log_path=arguments.log, keep=0)
    gc.freeze()  # the web never changes: exclude it from garbage collection
    asyncio.run(_run(local, arguments))
    return 0


async def _run(local: LocalWeb, arguments: argparse.Namespace) -> None:
    """Start, print a line of JSON when ready, and stop on a signal."""
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGUSR1, _flush, local)
    if arguments.until_eof:
        loop.add_reader(sys.stdin, _read_limit, local, stop)
    async with local:
        if arguments.scores:
            local.web.write_scores(arguments.scores)
        spec = local.web.spec
        ready = {"ready": True, "port": local.port, "seeds": local.seeds, "servers": spec.servers, "pages": spec.pages}
        print(json.dumps(ready), flush=True)
        await stop.wait()


def _flush(local: LocalWeb) -> None:
    """Flush the log to its file and print a line of JSON (SIGUSR1)."""
    local.log.flush()
    print(json.dumps({"flushed": True}), flush=True)


def _read_limit(local: LocalWeb, stop: asyncio.Event) -> None:
    """A line on standard input is a limit of pages, confirmed by a line of JSON; its end ends the server."""
    line = os.read(sys.stdin.fileno(), 4096)
    if not line:
        stop.set()
        return
    local.limit(float(line))
    print(json.dumps({"limited": True}), flush=True)


def _shop(arguments: argparse.Namespace) -> int:
    """Serve the shop until SIGINT; its first page is printed."""
    from testbed.shop import Shop  # an import that the webs of hundreds of tests need not pay for

    shop = Shop("127.0.0.1", arguments.port, arguments.pages)
    print(shop.url, flush=True)
    with suppress(KeyboardInterrupt):
        shop.serve_forever()
    return 0
