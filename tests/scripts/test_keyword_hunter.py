"""``scripts/KeywordHunter``: output and exit codes. What needs no crawl is asked of its Python part, forked."""

import os
import signal
import subprocess
from pathlib import Path

import pytest

from tests.crawl.scripted_site import Answer, scripted_site
from tests.processes import HUNG, run_python
from tests.waiting import until

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = str(ROOT / "scripts" / "keyword_hunter.py")
USAGE = "usage: KeywordHunter START_URL KEYWORD [OUTPUT_DIR]"


def hunt(*arguments: str, name: str = "KeywordHunter", cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"FRONTIER_ALLOWED_NETWORKS": "127.0.0.0/8"}
    command = [str(ROOT / "scripts" / name), *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=HUNG, check=False, env=environment, cwd=cwd)


def test_found_or_not(tmp_path: Path) -> None:
    """Exit code 0 for both; the output says which, with URL, line number and line, without commands to terminals.

    ``keyword_hunter`` is the same program; a start needs no scheme.
    """
    page = {"Content-Type": "text/html"}
    with scripted_site(1) as site:
        site.script = {
            "1/": Answer('<p>hay</p><a href="/two">x</a>', headers=page),
            "1/two": Answer("<p>first</p><p>die <b>Stra</b>ße\x1b[2J\x9b\x07</p>", headers=page),
        }
        found = hunt(site.url("1/"), "STRASSE", "out", cwd=tmp_path)
        missing = hunt(site.url("1/").removeprefix("http://"), "needle", name="keyword_hunter")
        url = site.url("1/two")
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout == f"found on level 2, after 2 pages: {url}\nline 2: die **Straße** [2J  \n"
    assert (tmp_path / "out" / "index.csv").exists()
    assert (missing.returncode, missing.stdout) == (0, "not found on 2 pages of 2 levels\n")


@pytest.mark.parametrize(
    "arguments", [(), ("http://a.example/",), ("a example", "x"), ("http://a.example/", "x" * 101)]
)
def test_bad_arguments(arguments: tuple[str, ...]) -> None:
    """Exit code 1 and a usage line; nothing on standard output."""
    done = run_python(PROGRAM, *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == USAGE


def test_an_interrupted_search_does_not_say_that_nothing_was_found() -> None:
    """Exit code 1; the reason on standard error, nothing on standard output."""
    html = {"Content-Type": "text/html"}
    links = "".join(f'<a href="/{number}">x</a>' for number in range(40))
    with scripted_site(1) as site:
        site.script = {"1/": Answer(links, headers=html)}
        site.script |= {f"1/{number}": Answer("<p>hay</p>", headers=html, delay=0.2) for number in range(40)}
        command = [str(ROOT / "scripts" / "KeywordHunter"), site.url("1/"), "needle"]
        environment = os.environ | {"FRONTIER_ALLOWED_NETWORKS": "127.0.0.0/8"}
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, cwd=ROOT
        ) as process:
            until(lambda: len(site.places()) > 1, process)
            process.send_signal(signal.SIGINT)
            out, errors = process.communicate(timeout=HUNG)
    assert (process.returncode, out) == (1, "")
    assert errors.startswith("KeywordHunter: interrupted (shutdown) on level 2, after ")
