"""The spider ``site``: its seeds."""

import asyncio
from pathlib import Path

from scrapy import Request

from crawlproject.spiders.site import SiteSpider

RULES = """\
seeds = ["http://{0}.example/"]
domains = ["{0}.example"]
[records.a.fields]
b = {{ css = "h1" }}
"""


def test_seeds_that_are_not_rendered_keep_their_quality(tmp_path: Path) -> None:
    """Those of a site with a table ``render`` are requests of their own."""
    rules = tmp_path / "rules"
    rules.mkdir()
    (rules / "a.toml").write_text(RULES.format("a"))
    (rules / "b.toml").write_text(f"render = 'auto'\n{RULES.format('b')}")
    seeds = tmp_path / "seeds.txt"
    seeds.write_text("http://a.example/1 0.5\nhttp://b.example/ 0.7\nhttp://a.example/2 0.9\n")

    async def gather() -> list[object]:
        return [output async for output in SiteSpider(rules=str(rules), seeds=str(seeds)).start()]

    request, links = asyncio.run(gather())
    assert isinstance(request, Request)
    assert request.url == "http://b.example/"
    assert dict(zip(links.hrefs, links.quality, strict=True)) == {"http://a.example/1": 0.5, "http://a.example/2": 0.9}
