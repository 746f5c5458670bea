"""Declarative shadow roots; whole pages are compared with Chromium in ``crawl/test_as_browsers.py``."""

import time

from crawlproject.content.relevance.focus import anchors
from crawlproject.content.relevance.visible import visible_lines
from crawlproject.download.rendering.need import reason_to_render
from crawlproject.urls.extract import MAX_ROOTS, extract

ROOT = '<div><template shadowrootmode="open"><a href="/a">link</a> text</template></div>'


def test_all_readers_of_html_see_them() -> None:
    """Links, lines, texts of links, and whether a page needs its scripts."""
    page = extract(ROOT, "http://h.test/", with_text=True)
    assert page.hrefs == ["/a"]
    assert (page.text or "").split() == ["link", "text"]
    assert visible_lines(ROOT) == ["link text"]
    assert anchors(ROOT)["/a"].text == "link"
    scripts = b"<script src=a></script><script src=b></script>"
    assert reason_to_render(b"<body><my-app></my-app>" + scripts) is not None
    filled = ROOT.replace("text", "word " * 100).encode()
    assert reason_to_render(b"<body><my-app>" + filled + b"</my-app>" + scripts) is None


def test_hostile_pages_cost_little() -> None:
    """Very many, side by side or nested: the first ones of a tree are read."""
    link = "<a href=/%d></a>"
    beside = "".join(f"<p><template shadowrootmode=open>{link % n}</template></p>" for n in range(4 * MAX_ROOTS))
    began = time.process_time()
    found = extract(beside, "http://h.test/").hrefs
    assert MAX_ROOTS <= len(found) < 4 * MAX_ROOTS
    nested = "<p><template shadowrootmode=open><a href=/x></a>" * 3_000
    assert extract(nested, "http://h.test/").hrefs == ["/x"]
    assert time.process_time() - began < 4
