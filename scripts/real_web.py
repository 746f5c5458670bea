"""Serves real documentation sites on loopback: sets them up, starts, stops and counts them.

python scripts/real_web.py setup --dir DIR    # download, unpack, write nginx.conf and seeds.txt
python scripts/real_web.py start DIR
scrapy crawl web -a seeds=DIR/seeds.txt -s FRONTIER_ALLOWED_NETWORKS=127.0.0.0/8
python scripts/real_web.py stop DIR
python scripts/real_web.py count DIR          # the pages that a full crawl must find, counted from the files
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from testbed import real_web
from testbed.real_web.counting import Kind


def main(arguments: list[str] | None = None) -> int:
    """Run the sub-command; returns the exit status."""
    options = command_line().parse_args(arguments)
    try:
        options.do(options)
    except real_web.RealWebError as error:
        print(f"real_web: {error}", file=sys.stderr)
        return 1
    return 0


def command_line() -> argparse.ArgumentParser:
    """The sub-commands and their options."""
    parser = argparse.ArgumentParser(description="Real documentation sites on loopback, for whole-crawl tests.")
    commands = parser.add_subparsers(required=True, metavar="command")
    setup = commands.add_parser("setup", help="download and unpack packages; write nginx.conf and seeds.txt")
    setup.add_argument("--dir", required=True, help="a new directory for everything")
    setup.add_argument("--port", type=int, default=8080)
    chosen = setup.add_mutually_exclusive_group()
    chosen.add_argument("--packages", help="Debian packages, separated by commas")
    chosen.add_argument("--small", action="store_true", help=f"only {', '.join(real_web.SMALL_PACKAGES)}")
    setup.set_defaults(do=do_setup)
    start = commands.add_parser("start", help="serve in the background")
    start.add_argument("--port", type=int, help="move to this port first")
    start.set_defaults(do=lambda options: print(*real_web.start(options.dir, options.port).seeds, sep="\n"))
    stop = commands.add_parser("stop", help="stop serving")
    stop.set_defaults(do=lambda options: real_web.stop(options.dir))
    remove = commands.add_parser("remove", help="stop serving and delete the directory")
    remove.set_defaults(do=lambda options: real_web.remove(options.dir))
    urls = commands.add_parser("urls", help="print the start page of each host")
    urls.set_defaults(do=lambda options: print(*real_web.load(options.dir).seeds, sep="\n"))
    count = commands.add_parser("count", help="print the numbers of URLs in a full crawl as JSON")
    for kind in Kind:
        count.add_argument(list_option(kind), metavar="FILE", type=Path, help=f"write the URLs of this kind: {kind}")
    count.set_defaults(do=do_count)
    for command in (start, stop, remove, urls, count):
        command.add_argument("dir", help="a directory created by setup")
    return parser


def list_option(kind: Kind) -> str:
    """The option for the file with the URLs of a kind."""
    return "--urls" if kind is Kind.PAGE else f"--{kind.lower()}"


def do_setup(options: argparse.Namespace) -> None:
    """Set up a web and print a summary."""
    packages = real_web.SMALL_PACKAGES if options.small else real_web.DEFAULT_PACKAGES
    web = real_web.setup(options.dir, options.packages.split(",") if options.packages else packages, options.port)
    print(f"{len(web.hosts)} hosts on port {web.port}; start pages in {web.directory / 'seeds.txt'}")


def do_count(options: argparse.Namespace) -> None:
    """Print the numbers, and write the requested lists."""
    result = real_web.count(real_web.load(options.dir))
    for kind in Kind:
        file = getattr(options, list_option(kind).lstrip("-").replace("-", "_"))
        if file is not None:
            file.write_text("".join(f"{url}\n" for url in result.urls(kind)))
    print(json.dumps(result.summary(), indent=1))


if __name__ == "__main__":
    sys.exit(main())
