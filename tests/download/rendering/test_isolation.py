"""No page finds in the browser what another one has left there, of its own site or by a third one."""

import json
from typing import Any

import pytest

from tests.crawl.crawling import IMPOLITE, crawl
from tests.crawl.scripted_site import Answer, Asked, Script, scripted_site

pytestmark = pytest.mark.long

WISH = "tests.download.rendering.render_spiders.WishSpider"

#: Says what it finds, asks a third server and its own, and leaves something everywhere.
SCRIPT = """
const ask = (url) => fetch(url, {credentials: 'include'}).then(answer => answer.text());
(async () => {
    const found = {
        cookie: document.cookie, local: localStorage.x, session: sessionStorage.x, name: window.name,
        databases: (await indexedDB.databases()).length, third: await ask('THIRD/'),
    };
    document.cookie = 'script=1';
    localStorage.x = sessionStorage.x = window.name = 'left';
    await new Promise(done => {
        const opening = indexedDB.open('left', 1);
        opening.onsuccess = () => { opening.result.close(); done() };
    });
    found.again = await ask('THIRD/');
    found.own = await ask('/own');
    document.body.innerHTML = '<pre></pre>';
    document.querySelector('pre').textContent = JSON.stringify(found);
})();
"""


def echo(asked: Asked) -> Answer:
    """The cookies that were sent; sets one that other sites' pages may use."""
    headers = {
        "Content-Type": "text/plain",
        "Set-Cookie": f"id={asked.server}; SameSite=None; Secure",
        "Access-Control-Allow-Origin": asked.headers.get("origin", "*"),
        "Access-Control-Allow-Credentials": "true",
    }
    return Answer(asked.headers.get("cookie", ""), headers=headers)


def found_by(pages: list[str], **settings: Any) -> list[dict[str, Any]]:
    """What each page finds, one after the other in one tab. The first one sets a cookie."""
    with scripted_site(3, tls=(3,)) as site:
        html = f"<title>x</title><body><script>{SCRIPT.replace('THIRD', site.origins[2])}</script></body>"
        answer = Answer(html, headers={"Content-Type": "text/html"})
        first = Answer(html, headers={"Content-Type": "text/html", "Set-Cookie": "visit=1"})
        script: Script = dict.fromkeys(pages, answer) | {pages[0]: first} | {"/own": echo, "3/": echo}
        site.script = script
        wishes = {site.url(page): ["wait pre"] for page in pages}
        result = crawl(WISH, settings={**IMPOLITE, "FRONTIER_RENDER_PAGES": 1, **settings}, wishes=json.dumps(wishes))
        assert result.exit_code == 0, result.log
        texts = {site.short(item["url"]): item["text"] for item in result.items}
        return [json.loads(texts[page].partition("<pre>")[2].partition("</pre>")[0]) for page in pages]


NOTHING = {"name": "", "databases": 0, "third": ""}


@pytest.mark.parametrize("has_cookies", [False, True])
def test_pages_find_nothing_of_each_other(chromium: str, has_cookies: bool) -> None:
    """By default no cookies at all; with COOKIES_ENABLED those that the crawl sends, and those of their own visit."""
    first, other, second = found_by(["1/a", "2/b", "1/c"], COOKIES_ENABLED=has_cookies)
    for found in (first, other, second):
        assert found.pop("again") in ("", "id=3" * has_cookies)  # not every build sends third servers their cookies
    if has_cookies:
        assert first == second == {**NOTHING, "cookie": "visit=1", "own": "visit=1; script=1"}
        assert other == {**NOTHING, "cookie": "", "own": "script=1"}
    else:
        assert first == other == second == {**NOTHING, "cookie": "", "own": ""}
