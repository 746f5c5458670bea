"""``scrapy repository``, as it is typed."""

import gzip
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.data import real
from tests.processes import run_python
from tests.repository.captures import HEAD, capture, kept, options


def scrapy(*arguments: object) -> subprocess.CompletedProcess[bytes]:
    return run_python("-m", "scrapy", "repository", *map(str, arguments), text=False)


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two servers; a page that was fetched twice, a copy of it elsewhere, a 404."""
    path = tmp_path_factory.mktemp("repository")
    packed = HEAD.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n")
    pages = [
        capture(b"old", "http://a.example/p", fetched_at=1_700_000_000.0),
        capture(gzip.compress(b"new", mtime=0), "http://a.example/p", response_head=packed),
        capture(
            gzip.compress(b"new", mtime=0), "http://b.example/copy", response_head=packed, server="http://b.example"
        ),
        capture(b"gone", "http://a.example/gone", 404),
    ]
    kept(options(path), pages)
    return path


def test_ls_lists_pages(repository: Path) -> None:
    """In the order of their URLs, all or those of a server or status."""
    lines = scrapy("ls", repository).stdout.decode().splitlines()
    assert lines == [
        "2026-09-21T14:13:20Z 404 response         4 text/html http://a.example/gone",
        "2023-11-14T22:13:20Z 200 response         3 text/html http://a.example/p",
        "2026-09-21T14:13:20Z 200 response        23 text/html http://a.example/p",
        "2026-09-21T14:13:20Z 200 revisit         23 text/html http://b.example/copy",
    ]
    assert scrapy("ls", repository, "--server", "http://b.example/").stdout.decode().splitlines() == lines[3:]
    assert scrapy("ls", repository, "--server", "a.example").stdout.decode().splitlines() == lines[:3]
    assert scrapy("ls", repository, "--server", "A.example:81").stdout == b""
    asked = (repository, "--status", 200, "--limit", 2)
    assert scrapy("ls", *asked).stdout.decode().splitlines() == lines[1:3]


def test_get_prints_the_newest_body(repository: Path) -> None:
    """Decoded, or as received; a revisit's is that of the page it repeats."""
    assert scrapy("get", "HTTP://b.example/x/../copy", repository).stdout == b"new"
    assert gzip.decompress(scrapy("get", "http://b.example/copy", repository, "--raw").stdout) == b"new"
    assert scrapy("get", "http://a.example/gone", repository).stdout == b"gone"
    done = scrapy("get", "http://a.example/other", repository)
    assert (done.returncode, b"no page of 'http://a.example/other'" in done.stderr) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "expected [options] <ls [DIR] | get URL [DIR] | index [DIR]>"),
        (["get"], "expected [options] <ls [DIR] | get URL [DIR] | index [DIR]>"),
        (["ls"], "no directory given, and FRONTIER_REPOSITORY_DIR is not set"),
        (["ls", "/nowhere"], "/nowhere: not a repository: there is no index.sqlite"),
    ],
)
def test_wrong_arguments_are_told(arguments: list[str], message: str) -> None:
    """And the exit code is not 0."""
    done = scrapy(*arguments)
    assert message in done.stderr.decode()
    assert done.returncode != 0


@pytest.mark.long
def test_files_of_other_software_are_read(tmp_path: Path) -> None:
    """A crawl of 2008 by Heritrix, in WARC 0.17."""
    shutil.copy(real("vectors/warc/example.warc.gz"), tmp_path)
    assert b"Files read: 1, pages found: 261" in scrapy("index", tmp_path).stderr
    assert b"Files read: 0, pages found: 0" in scrapy("index", tmp_path).stderr
    assert scrapy("get", "http://www.archive.org/robots.txt", tmp_path).stdout.startswith(b"#######")
    assert len(scrapy("ls", tmp_path).stdout.splitlines()) == 261
