"""A single-page application: rendered, all of its pages and records are found; fetched, none."""

import json
from typing import Any

import pytest

from tests.crawl.crawling import IMPOLITE, Crawl, crawl
from tests.crawl.scripted_site import Answer, scripted_site

#: Path -> what the API tells about it.
RECORDS: dict[str, dict[str, Any]] = {
    "/": {"title": "All items", "links": ["/item/1", "/item/2"], "price": ""},
    "/item/1": {"title": "Anvil", "links": ["/"], "price": "11.50 EUR"},
    "/item/2": {"title": "Bellows", "links": ["/item/3"], "price": "22.75 EUR"},
    "/item/3": {"title": "Drill", "links": [], "price": "44.00 EUR"},
}

SCRIPT = """
fetch('/api' + location.pathname).then(answer => answer.json()).then(record => {
    const main = document.createElement('main');
    main.innerHTML = `<h1>${record.title}</h1><p>${record.price}</p>`;
    for (const link of record.links) {
        const a = document.createElement('a');
        a.href = link;
        a.textContent = link;
        main.append(a);
    }
    document.body.append(main);
});
"""


def crawled(**settings: Any) -> Crawl:
    shell = '<body><noscript>Please enable JavaScript.</noscript><script src="/app.js"></script></body>'
    with scripted_site(1) as site:
        site.script = {
            "/app.js": Answer(SCRIPT, headers={"Content-Type": "text/javascript", "Cache-Control": "max-age=3600"}),
            **{path: Answer(shell, headers={"Content-Type": "text/html"}) for path in RECORDS},
            **{
                f"/api{path}": Answer(json.dumps(record), headers={"Content-Type": "application/json"})
                for path, record in RECORDS.items()
            },
        }
        more = {"seeds": site.url("1/"), "body": "1"}
        result = crawl("crawlproject.spiders.web.WebSpider", settings={**IMPOLITE, **settings}, **more)
        assert result.exit_code == 0, result.log
        for item in result.items:
            item["path"] = site.short(item["url"]).removeprefix("1")
        return result


def test_all_pages_and_records_are_found(chromium: str) -> None:
    """By FRONTIER_RENDER=auto, which sees that each page needs its scripts."""
    result = crawled(FRONTIER_RENDER="auto", FRONTIER_RENDER_QUIET=0.3)
    assert {item["path"] for item in result.items} == set(RECORDS)
    for item in result.items:
        record = RECORDS[item["path"]]
        assert record["title"] in item["body"]
        assert record["price"] in item["body"]
        assert item["links"] == len(record["links"])
    assert result.stat("render/auto/noscript") == result.stat("render/pages") == len(RECORDS)
    assert result.stat("log_count/ERROR") == 0, result.log


@pytest.mark.long
def test_without_rendering_nothing_is_found() -> None:
    result = crawled()
    assert [item["path"] for item in result.items] == ["/"]
    assert not any(record["title"] in item["body"] for item in result.items for record in RECORDS.values())
