"""Tests of counting a real web, on hand-made trees of two hosts. No server runs."""

from pathlib import Path

import pytest

from testbed.real_web import count
from testbed.real_web.counting import Kind
from testbed.real_web.web import Host, RealWeb

HOSTS = (
    Host("apples", "127.2.0.1", ("/apples",), "/apples/index.html"),
    Host("pears", "127.2.0.2", ("/pears",), "/pears/index.html"),
)
APPLES = "http://127.2.0.1:8080/apples"
PEARS = "http://127.2.0.2:8080/pears"


def web_of(directory: Path, files: dict[str, str | bytes]) -> RealWeb:
    """A web of two hosts with these files; both have an index page, empty unless given."""
    for name, content in {"apples/index.html": "", "pears/index.html": "", **files}.items():
        file = directory / "root" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
    return RealWeb(directory, 8080, HOSTS)


def linking_to(*hrefs: str) -> str:
    return "".join(f'<a href="{href}">link</a>' for href in hrefs)


def urls(web: RealWeb, kind: Kind) -> list[str]:
    """The URLs counted as this kind, but for the two start pages."""
    return [url for url in count(web).urls(kind) if url not in web.seeds]


class TestCounting:
    """The count of hand-made trees."""

    def test_sorts_urls_by_how_they_are_answered(self, tmp_path: Path) -> None:
        """Pages, redirects, broken links and other files are counted apart, and pages also per host."""
        index = linking_to("a.HTML", "notes.txt", "lost.html", "lost.png", "dir")
        files = {"apples/index.html": index, "apples/a.HTML": "", "apples/notes.txt": "", "apples/dir/index.htm": ""}
        summary = count(web_of(tmp_path, files)).summary()
        hosts = summary.pop("hosts")
        assert summary == {
            "pages": 4,
            "redirects": 1,
            "broken": 2,
            "broken_html": 1,
            "non_html": 1,
            "nofollow_pages": 0,
        }
        assert [host["pages"] for host in hosts] == [3, 1]

    def test_paths_of_another_host_redirect_to_it(self, tmp_path: Path) -> None:
        """A relative link into another docroot costs a redirect; an absolute one goes straight to the owner."""
        index = linking_to("../pears/a.html", f"{PEARS}/b.html", "/pears-and-more/c.html")
        web = web_of(tmp_path, {"apples/index.html": index, "pears/a.html": "", "pears/b.html": ""})
        assert urls(web, Kind.REDIRECT) == ["http://127.2.0.1:8080/pears/a.html"]
        assert urls(web, Kind.PAGE) == [f"{PEARS}/a.html", f"{PEARS}/b.html"]
        assert urls(web, Kind.BROKEN) == ["http://127.2.0.1:8080/pears-and-more/c.html"]

    @pytest.mark.parametrize(
        "href", ["a%20b%25.html", "a b%25.html", "\n a b%25.\nhtml ", "x/..\\a b%25.html", "%61%20b%25.html"]
    )
    def test_spellings_of_one_path_are_one_url(self, tmp_path: Path, href: str) -> None:
        """Spaces, backslashes and needless escapes are read as browsers and nginx read them."""
        web = web_of(tmp_path, {"apples/index.html": linking_to(href), "apples/a b%.html": ""})
        assert urls(web, Kind.PAGE) == [f"{APPLES}/a%20b%25.html"]

    def test_frames_canonical_links_and_refreshes_count(self, tmp_path: Path) -> None:
        """A refresh is joined with the page's URL, not with its base; other ``<link>`` elements are not followed."""
        index = (
            '<base href="dir/"><meta http-equiv="Refresh" content="0;url=\'a.html\'"><link rel=canonical href="b.html">'
            '<link rel=next href="lost.html"><meta name="refresh" content="0; url=lost.html"><frame src="c.html">'
        )
        files = {"apples/a.html": "", "apples/dir/b.html": "", "apples/dir/c.html": ""}
        web = web_of(tmp_path, {"apples/index.html": index, **files})
        assert urls(web, Kind.PAGE) == [f"{APPLES}/a.html", f"{APPLES}/dir/b.html", f"{APPLES}/dir/c.html"]
        assert urls(web, Kind.BROKEN) == []

    def test_nofollow_is_honoured(self, tmp_path: Path) -> None:
        """A link with rel=nofollow is not followed, and none of a page whose robots meta says so."""
        index = linking_to("a.html") + '<a rel="help NoFollow" href="b.html">'
        page = '<meta name="Robots" content="noindex, NoFollow">' + linking_to("c.html")
        web = web_of(
            tmp_path, {"apples/index.html": index, "apples/a.html": page, "apples/b.html": "", "apples/c.html": ""}
        )
        assert urls(web, Kind.PAGE) == [f"{APPLES}/a.html"]
        assert count(web).nofollow_pages == 1
