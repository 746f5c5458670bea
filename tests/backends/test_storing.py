"""What storing backends share: requests as bytes, acknowledgement in two steps."""

from scrapy import Request

from crawlproject.dupefilter import SeenDupeFilter
from crawlproject.frontier import BestPrefix, Entry, Frontier, Politeness
from crawlproject.options.scheduling import FrontierOptions
from crawlproject.requests.meta import KEEP
from crawlproject.requests.unstored import PageUnderWay
from tests.backends.worker import WorkerBackend, WorkerSpider, crawler_of
from tests.crawl_ports import NO_HOST

URL = "http://a.example/"


class LateBackend(WorkerBackend):
    """Acknowledges later."""

    def __init__(self, *args: object) -> None:
        super().__init__(*args)  # type: ignore[arg-type]
        self.waiting: list[Entry] = []

    def _done(self, page: PageUnderWay) -> None:
        self.waiting.append(page.entry)


def backend(kind: type[WorkerBackend] = WorkerBackend) -> WorkerBackend:
    crawler = crawler_of(WorkerSpider)
    options = FrontierOptions.of(crawler)
    seen = SeenDupeFilter.from_crawler(crawler)
    return kind(crawler, options, Frontier(BestPrefix(), Politeness()), seen, NO_HOST)


def hand_out(made: WorkerBackend, request: Request) -> Request:
    made.handed_out(request, Entry(request.url, payload=made.pack(request)))
    return request


def test_what_is_done_is_acknowledged_at_once() -> None:
    """But for a page that stays queued, and for one whose requests are not done."""
    made = backend()
    page = hand_out(made, Request(f"{URL}page"))
    hand_out(made, Request(f"{URL}kept", meta={KEEP: True}))
    entry = made.not_queued(Entry(f"{URL}child"), Request(f"{URL}child", meta=page.meta | {"object": object()}))
    made._find_done()
    assert made.acknowledged == []
    made.handed_out(made.unpack(entry), entry)
    made._find_done()
    assert made.acknowledged == [f"{URL}child", f"{URL}page"]
    made._find_done()
    assert len(made.acknowledged) == 2


def test_a_subclass_may_acknowledge_later() -> None:
    """When what the page brought is safe."""
    made = backend(LateBackend)
    assert isinstance(made, LateBackend)
    hand_out(made, Request(URL))
    made._find_done()
    assert made.acknowledged == []
    made._acknowledge(made.waiting.pop())
    assert made.acknowledged == [URL]


def test_what_is_sent_is_bytes_or_nothing() -> None:
    """Without a trace here: neither counted nor kept."""
    made = backend()
    payload = made.pack_to_send(Request(URL, meta={"tuple": (1, 2)}))
    assert payload is not None
    assert made.unpack(Entry(URL, payload=payload)).meta == {"tuple": (1, 2)}
    assert made.pack_to_send(Request(URL, callback=lambda _: None)) is None
    assert made._stats.get_value("scheduler/unserializable") is None
    made._report_unstored()
    assert made._stats.get_value("frontier/unserializable/lost") is None


def test_what_was_not_done_is_reported_in_addition() -> None:
    """To what was counted during the crawl."""
    made = backend()
    made._stats.inc_value("frontier/unserializable/lost", 2)
    made.pack(Request(URL, meta={"object": object()}))
    made._report_unstored()
    assert made._stats.get_value("frontier/unserializable/lost") == 3
