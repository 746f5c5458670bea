"""A crawl of real documentation behind nginx, compared with an independent count of the links in its files."""

from collections import Counter

from testbed.real_web import RealWeb, count, running_real_web
from testbed.real_web.counting import Kind
from tests.crawl.crawling import IMPOLITE, crawl


def test_every_linked_page_is_fetched_once(small_web: RealWeb) -> None:
    """Exactly the pages that the files link to, each requested once; only broken links answer 404."""
    with running_real_web(small_web.directory) as web:
        result = crawl(
            "crawlproject.spiders.web.WebSpider",
            # Without the guard's questions, which servers of files answer with 404.
            settings={"LOG_LEVEL": "INFO", "FRONTIER_GUARD_PROBES": False, **IMPOLITE},
            seeds=",".join(web.seeds),
            allowed=",".join(host.address for host in web.hosts),
        )
        lines = [line.split("\t") for line in web.access_log.read_text().splitlines()]
    expected = count(web)
    pages = expected.urls(Kind.PAGE)
    assert result.urls() == sorted(pages)
    assert set(Counter((line[2], line[3]) for line in lines).values()) == {1}
    assert result.stat("downloader/response_status_count/404") == len(expected.urls(Kind.BROKEN))
    assert result.stat("downloader/exception_count") == 0
