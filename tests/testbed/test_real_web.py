"""Tests of the real web: the set-up on hand-made package lists, and a small real web over HTTP."""

import http.client
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from scripts.real_web import main
from testbed.children import free_port
from testbed.real_web import count, is_running, running_real_web, start, stop
from testbed.real_web.counting import Kind, Url, answer_to
from testbed.real_web.packages import confine_links, find_docroots
from testbed.real_web.web import RealWeb


class TestPackages:
    """What the set-up makes of unpacked packages."""

    def test_docroots_are_the_topmost_directories_of_one_package(self, tmp_path: Path) -> None:
        """Directories that several packages use, and those without pages, belong to nobody."""
        shipped = {
            "a": ["/usr/share/doc/a/html/x.html", "/usr/share/doc/b/extra/y.html", "/usr/share/man/a.1"],
            "b": ["/usr/share/doc/b/html/z.html", "/usr/share/doc/b/single.html", "/usr/share/doc/a.html"],
        }
        assert find_docroots(shipped, tmp_path) == {
            "a": ("/usr/share/doc/a", "/usr/share/doc/b/extra"),
            "b": ("/usr/share/doc/a.html", "/usr/share/doc/b/html", "/usr/share/doc/b/single.html"),
        }

    def test_links_out_of_the_tree_are_turned_inwards(self, tmp_path: Path) -> None:
        """An absolute link, and one that climbs above the root, lead to the same path below the root."""
        (tmp_path / "usr/share").mkdir(parents=True)
        (tmp_path / "usr/page.html").write_text("inside")
        targets = {"absolute": "/usr/page.html", "climbing": "../../../usr/page.html", "fine": "../page.html"}
        for name, target in targets.items():
            (tmp_path / "usr/share" / name).symlink_to(target)
        confine_links([f"/usr/share/{name}" for name in targets], tmp_path)
        assert [(tmp_path / "usr/share" / name).read_text() for name in targets] == ["inside"] * 3
        assert all(not (tmp_path / "usr/share" / name).readlink().is_absolute() for name in targets)


class Reply(NamedTuple):
    """What the server answered."""

    status: int
    media_type: str | None
    location: str | None


def get(url: str) -> Reply:
    """Fetch a URL without following redirects."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=60)
    try:
        connection.request("GET", parts.path + (f"?{parts.query}" if parts.query else ""))
        response = connection.getresponse()
        response.read()
        return Reply(response.status, response.getheader("Content-Type"), response.getheader("Location"))
    finally:
        connection.close()


@pytest.fixture(scope="module")
def served(small_web: RealWeb) -> Iterator[RealWeb]:
    """The small set, served."""
    with running_real_web(small_web.directory) as web:
        yield web


class TestServing:
    """The small real web over HTTP."""

    def test_directories_redirect_to_their_slash(self, served: RealWeb) -> None:
        """As the counting says, also below a symlink."""
        url = Url("127.2.0.2", "/usr/share/doc/libatk1.0-doc/html")
        reply = get(served.url(*url))
        target = answer_to(served, url).target
        assert target is not None
        assert (reply.status, reply.location) == (301, served.url(*target))

    def test_every_counted_url_is_answered_as_counted(self, served: RealWeb) -> None:
        """All pages are there, and all broken links are broken."""
        counted = count(served)
        pages, broken = counted.urls(Kind.PAGE), counted.urls(Kind.BROKEN)
        assert len(pages) > 100
        assert broken
        assert {get(url)[:2] for url in pages} == {(200, "text/html")}
        assert {get(url).status for url in broken} == {404}


class TestStopping:
    """The end of a web; of its directory."""

    def test_stop_leaves_no_process(self, small_web: RealWeb) -> None:
        """The web moves to another port, and nothing listens there after the stop."""
        stop(small_web.directory)
        web = start(small_web.directory, free_port("127.2.0.1"))
        pid = int((web.directory / "nginx.pid").read_text())
        assert get(web.seeds[0]).status == 200
        stop(web.directory)
        assert not is_running(web.directory)
        command = Path(f"/proc/{pid}/cmdline")
        assert not command.exists() or not command.read_text()
        with pytest.raises(ConnectionRefusedError):
            get(web.seeds[0])

    def test_remove_deletes_the_directory(self, small_web: RealWeb, tmp_path: Path) -> None:
        """A second removal finds nothing to remove."""
        copy = tmp_path / "copy"
        shutil.copytree(small_web.directory, copy, symlinks=True)
        assert main(["remove", str(copy)]) == 0
        assert not copy.exists()
        assert main(["remove", str(copy)]) == 1
