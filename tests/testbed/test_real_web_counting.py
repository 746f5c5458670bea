"""Tests of counting a real web, on hand-made trees of two hosts. No server runs."""

import json
from pathlib import Path

import pytest

from scripts.real_web import main
from testbed.real_web import count
from testbed.real_web.counting import Kind, Url, answer_to
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
    """A page with these links."""
    return "".join(f'<a href="{href}">link</a>' for href in hrefs)


def urls(web: RealWeb, kind: Kind) -> list[str]:
    """The URLs counted as this kind, but for the two start pages."""
    return [url for url in count(web).urls(kind) if url not in web.seeds]


class TestCounting:
    """The count of hand-made trees."""

    def test_counts_every_page_once(self, tmp_path: Path) -> None:
        """Links in a circle, fragments and repeated links add no page."""
        index = linking_to("a.html", "./a.html#top", "b.htm", "#here", "")
        web = web_of(
            tmp_path, {"apples/index.html": index, "apples/a.html": linking_to("index.html"), "apples/b.htm": ""}
        )
        assert urls(web, Kind.PAGE) == [f"{APPLES}/a.html", f"{APPLES}/b.htm"]

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

    def test_directories_have_an_index_page_or_are_broken(self, tmp_path: Path) -> None:
        """Without a slash a directory redirects; with one it is its index page or missing; a file has no slash."""
        index = linking_to("full", "empty/", "a.html/", "full?q=1")
        files = {
            "apples/index.html": index,
            "apples/full/index.html": "",
            "apples/empty/x.txt": "",
            "apples/a.html": "",
        }
        web = web_of(tmp_path, files)
        assert urls(web, Kind.PAGE) == [f"{APPLES}/full/", f"{APPLES}/full/?q=1"]
        assert urls(web, Kind.REDIRECT) == [f"{APPLES}/full", f"{APPLES}/full?q=1"]
        assert urls(web, Kind.BROKEN) == [f"{APPLES}/a.html/", f"{APPLES}/empty/"]

    def test_paths_of_another_host_redirect_to_it(self, tmp_path: Path) -> None:
        """A relative link into another docroot costs a redirect; an absolute one goes straight to the owner."""
        index = linking_to("../pears/a.html", f"{PEARS}/b.html", "/pears-and-more/c.html")
        web = web_of(tmp_path, {"apples/index.html": index, "pears/a.html": "", "pears/b.html": ""})
        assert urls(web, Kind.REDIRECT) == ["http://127.2.0.1:8080/pears/a.html"]
        assert urls(web, Kind.PAGE) == [f"{PEARS}/a.html", f"{PEARS}/b.html"]
        assert urls(web, Kind.BROKEN) == ["http://127.2.0.1:8080/pears-and-more/c.html"]

    def test_root_redirects_to_the_start_page(self, tmp_path: Path) -> None:
        """A link above the docroot leads back to the start page of the same host."""
        web = web_of(tmp_path, {"apples/index.html": linking_to("/", "../..")})
        assert urls(web, Kind.REDIRECT) == ["http://127.2.0.1:8080/"]
        assert answer_to(web, Url("127.2.0.2", "/")).target == Url("127.2.0.2", "/pears/index.html")

    def test_symlinked_paths_are_urls_of_their_own(self, tmp_path: Path) -> None:
        """One file under two names is two pages; a dangling link is broken."""
        web = web_of(tmp_path, {"apples/index.html": linking_to("a.html", "b.html", "gone.html"), "apples/a.html": ""})
        (web.root / "apples/b.html").symlink_to("a.html")
        (web.root / "apples/gone.html").symlink_to("nowhere.html")
        assert urls(web, Kind.PAGE) == [f"{APPLES}/a.html", f"{APPLES}/b.html"]
        assert urls(web, Kind.BROKEN) == [f"{APPLES}/gone.html"]

    @pytest.mark.parametrize(
        "href",
        [
            "mailto:a@b.c",
            "https://127.2.0.1:8080/apples/a.html",
            "http://127.0.0.1/a.html",
            "//[",
            "javascript:x()",
            "file:///a",
        ],
    )
    def test_links_that_leave_the_web_are_ignored(self, tmp_path: Path, href: str) -> None:
        """Other schemes, hosts and ports, and what is no URL, add nothing."""
        assert len(count(web_of(tmp_path, {"apples/index.html": linking_to(href)})).kinds) == 2

    @pytest.mark.parametrize(
        "href",
        ["a%20b%25.html", "a b%25.html", "\n a b%25.\nhtml ", "x/..\\a b%25.html", "%61%20b%25.html"],
    )
    def test_spellings_of_one_path_are_one_url(self, tmp_path: Path, href: str) -> None:
        """Spaces, backslashes and needless escapes are read as browsers and nginx read them."""
        web = web_of(tmp_path, {"apples/index.html": linking_to(href), "apples/a b%.html": ""})
        assert urls(web, Kind.PAGE) == [f"{APPLES}/a%20b%25.html"]

    def test_non_ascii_links_are_sent_as_utf_8(self, tmp_path: Path) -> None:
        """The declared charset of the page decides which character a byte is, UTF-8 how it is sent."""
        page = '<meta charset="iso-8859-1"><a href="é.html">'.encode("latin-1")
        web = web_of(tmp_path, {"apples/index.html": page, "apples/é.html": ""})
        assert urls(web, Kind.PAGE) == [f"{APPLES}/%C3%A9.html"]

    def test_base_href_and_areas_count(self, tmp_path: Path) -> None:
        """Links are joined with the base of the page; areas of image maps are links, iframes and images are not."""
        index = '<base href="dir/"><map><area href="a.html"></map><iframe src="a.html"></iframe><img src="a.png">'
        web = web_of(tmp_path, {"apples/index.html": index, "apples/dir/a.html": ""})
        assert urls(web, Kind.PAGE) == [f"{APPLES}/dir/a.html"]
        assert len(count(web).kinds) == 3

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

    def test_xhtml_and_deep_pages_are_read(self, tmp_path: Path) -> None:
        """An XML declaration with an encoding, and nesting deeper than parsers like, hide no link."""
        xhtml = '<?xml version="1.0" encoding="UTF-8"?><html xmlns="http://www.w3.org/1999/xhtml">' + linking_to(
            "b.html"
        )
        files = {"apples/index.html": linking_to("a.html"), "apples/a.html": xhtml}
        web = web_of(tmp_path, {**files, "apples/b.html": "<div>" * 500 + linking_to("c.html"), "apples/c.html": ""})
        assert urls(web, Kind.PAGE) == [f"{APPLES}/a.html", f"{APPLES}/b.html", f"{APPLES}/c.html"]

    def test_command_line_writes_the_lists(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        """``count`` prints JSON and writes the lists asked for; ``urls`` prints the start pages."""
        web_of(tmp_path, {"apples/index.html": linking_to("lost.html")}).save()
        lists = {option: tmp_path / option for option in ("--urls", "--broken")}
        assert main(["count", str(tmp_path), *(str(word) for pair in lists.items() for word in pair)]) == 0
        assert json.loads(capsys.readouterr().out)["pages"] == 2
        assert lists["--urls"].read_text() == f"{APPLES}/index.html\n{PEARS}/index.html\n"
        assert lists["--broken"].read_text() == f"{APPLES}/lost.html\n"
        assert main(["urls", str(tmp_path)]) == 0
        assert capsys.readouterr().out == (tmp_path / "seeds.txt").read_text()
