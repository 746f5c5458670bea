"""Tests of the real web: the set-up on hand-made package lists, and a small real web over HTTP."""

import gzip
import http.client
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from scripts.real_web import main
from testbed.children import free_port
from testbed.real_web import SMALL_PACKAGES, RealWebError, count, is_running, running_real_web, setup, start, stop
from testbed.real_web.counting import Kind, Url, answer_to
from testbed.real_web.nginx import wait_until
from testbed.real_web.packages import confine_links, decompress, find_docroots, find_index
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

    def test_links_in_shared_directories_are_docroots(self, tmp_path: Path) -> None:
        """A package owns what its symlinks lead to under their names."""
        (tmp_path / "usr/share/doc").mkdir(parents=True)
        (tmp_path / "usr/share/doc/a-doc").symlink_to("a")
        assert find_docroots({"a": ["/usr/share/doc/a-doc"]}, tmp_path) == {"a": ("/usr/share/doc/a-doc",)}

    @pytest.mark.parametrize(
        ("pages", "index"),
        [
            (["/d/a/index.html", "/d/b/index.html", "/d/b/x.html"], "/d/b/index.html"),
            (["/d/index.htm", "/d/b/index.html"], "/d/index.htm"),
            (["/d/b/x.html", "/d/y.html", "/d/z.html"], "/d/y.html"),
        ],
    )
    def test_start_page_is_the_index_with_most_pages(self, pages: list[str], index: str) -> None:
        """The index of the largest tree wins; without any, the first page of the top directory."""
        assert find_index("d", pages) == index

    def test_package_without_pages_is_refused(self) -> None:
        """The message names the package."""
        with pytest.raises(RealWebError, match="manuals has no HTML pages"):
            find_index("manuals", ["/usr/share/man/a.1"])

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

    def test_packed_pages_are_unpacked_beside(self, tmp_path: Path) -> None:
        """Only pages are; the packed file stays."""
        (tmp_path / "a.html.gz").write_bytes(gzip.compress(b"page"))
        assert decompress(["/a.html.gz", "/README.gz"], tmp_path) == ["/a.html"]
        assert (tmp_path / "a.html").read_bytes() == b"page"


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

    def test_start_pages_are_served(self, served: RealWeb) -> None:
        """Each host has one; ``seeds.txt`` lists them."""
        assert (served.directory / "seeds.txt").read_text().split() == served.seeds
        assert [get(seed) for seed in served.seeds] == [Reply(200, "text/html", None)] * len(SMALL_PACKAGES)

    def test_root_redirects_to_the_start_page(self, served: RealWeb) -> None:
        """``/`` of each host leads to its own start page."""
        roots = [get(served.url(host.address, "/")) for host in served.hosts]
        assert [(root.status, root.location) for root in roots] == [(301, seed) for seed in served.seeds]

    def test_paths_of_another_host_redirect_to_it(self, served: RealWeb) -> None:
        """The path and the query stay as they are."""
        first, second, _ = served.hosts
        reply = get(served.url(first.address, second.index, "q=%20"))
        assert (reply.status, reply.location) == (301, served.url(second.address, second.index, "q=%20"))

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

    def test_directory_without_index_is_missing(self, served: RealWeb) -> None:
        """There is no listing, and no 403 either."""
        assert get(served.url("127.2.0.1", "/usr/share/")).status == 404

    def test_access_log_has_a_line_per_request(self, served: RealWeb) -> None:
        """The fields are separated by tabs: time, duration, server, URI, status, bytes, connection and its request."""
        get(served.url("127.2.0.3", "/nothing", "here"))
        wait_until(lambda: "/nothing?here" in served.access_log.read_text(), "no line")  # it comes after the answer
        *_, last = served.access_log.read_text().splitlines()
        fields = last.split("\t")
        assert fields[2:5] == ["127.2.0.3", "/nothing?here", "404"]
        assert fields[7] == "1"

    def test_running_web_cannot_be_started_again(self, served: RealWeb) -> None:
        """Nor can another be set up in its place."""
        with pytest.raises(RealWebError, match="already running"):
            start(served.directory)
        with pytest.raises(RealWebError, match="already set up"):
            setup(served.directory, SMALL_PACKAGES)


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
