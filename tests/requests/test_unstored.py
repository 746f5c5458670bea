"""Pages that wait for requests which are not stored."""

from scrapy import Request

from crawlproject.frontier import Entry
from crawlproject.requests.meta import ORIGIN
from crawlproject.requests.unstored import PagesUnderWay, PageUnderWay

URL = "http://a.example/"


class Crawl:
    """Requests handed out, and the pages that are done, in order."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.pages = PagesUnderWay(lambda page: self.done.append(page.entry.url))

    def start(self, name: str, found_on: PageUnderWay | None = None) -> PageUnderWay:
        """The page ``name`` is handed out; not stored where it was ``found_on`` another."""
        payload = None if found_on is None else self.pages.hold(None, found_on.request.meta, None)
        return self.pages.start(Request(URL + name), Entry(URL + name, payload=payload))

    def over(self, *pages: PageUnderWay) -> list[str]:
        """The engine is through with these; the names of the pages that are done."""
        for page in pages:
            self.pages.over(page)
        return [url.removeprefix(URL) for url in self.done]


def test_a_page_is_done_when_all_that_comes_from_it_is() -> None:
    """However deep, in whatever order; one that stored all its requests at once."""
    crawl = Crawl()
    a = crawl.start("a")
    b, c = crawl.start("b", a), crawl.start("c", a)
    d = crawl.start("d", b)
    plain = crawl.start("plain")
    assert crawl.over(plain) == ["plain"]
    assert crawl.over(a, b) == ["plain"]
    assert len(crawl.pages.waiting()) == 1
    assert crawl.over(c) == ["plain", "c"]
    assert crawl.over(d) == ["plain", "c", "d", "b", "a"]
    assert len(crawl.pages.waiting()) == 0


def test_what_was_not_sent_is_waited_for() -> None:
    """It goes back into the queue; when it is handed out again, the same page waits for it."""
    crawl = Crawl()
    a = crawl.start("a")
    b = crawl.start("b", a)
    crawl.pages.forget(b)
    assert crawl.over(a) == []
    again = crawl.pages.start(b.request, b.entry)
    assert crawl.over(again) == ["b", "a"]


def test_a_copy_comes_from_where_its_original_does() -> None:
    """A retry has the meta of the request under way, which waits for it; what has none comes from nowhere."""
    crawl = Crawl()
    a = crawl.start("a")
    retry = crawl.pages.hold(None, a.request.copy().meta, None)
    assert retry.found_on is a
    assert crawl.over(a) == []
    assert crawl.pages.hold(None, {}, None).found_on is None
    assert crawl.pages.hold(None, None, None).found_on is None
    assert crawl.pages.hold(None, {ORIGIN: 99}, None).found_on is None


def test_what_is_dropped_is_not_waited_for() -> None:
    """Before or after the engine is through with the page that it comes from."""
    crawl = Crawl()
    early, late = crawl.start("early"), crawl.start("late")
    links = [crawl.pages.hold(None, page.request.meta, None) for page in (early, early, late)]
    crawl.pages.dropped(links[0])
    assert crawl.over(early) == []
    crawl.pages.dropped(links[1])
    assert crawl.over() == ["early"]
    crawl.pages.dropped(links[2])
    assert crawl.over() == ["early"]
    assert crawl.over(late) == ["early", "late"]
    crawl.pages.dropped(crawl.pages.hold(None, None, None))
