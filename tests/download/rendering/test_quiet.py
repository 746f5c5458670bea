"""When a page is complete: what its scripts still have to do is waited for, whatever they wait for themselves."""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from tests.crawl.crawling import IMPOLITE, Crawl, crawl
from tests.crawl.scripted_site import Answer, Site, scripted_site

pytestmark = pytest.mark.long

WISH = "tests.download.rendering.render_spiders.WishSpider"
HTML = {"Content-Type": "text/html"}

ADD = "const add = t => document.body.append(t);"

#: Their text is complete only after something that is not a request.
COMPLETE = {
    "timer": "setTimeout(() => add('COMPLETE'), 300)",
    "timer and fetch and timer": "setTimeout(() => fetch('/slow').then("
    "() => setTimeout(() => add('COMPLETE'), 300)), 300)",
    "fetch long after the DOM": "add('x'); fetch('/slow').then(r => r.text()).then(t => setTimeout(() => add(t), 400))",
    "timers in turn": "let n = 0; const i = setInterval(() => { add(++n + ' ');"
    "if (n === 10) { clearInterval(i); add('COMPLETE') } }, 200)",
    "animation frames": "let n = 0; const f = () => ++n > 20 ? add('COMPLETE') : requestAnimationFrame(f); f()",
    "animation frames after a fetch": "const f = requestAnimationFrame;"
    "fetch('/slow').then(() => f(() => f(() => f(() => add('COMPLETE')))))",
    "end of a transition": "const p = document.querySelector('p'); p.style.transition = 'opacity .2s'; p.offsetWidth;"
    "p.ontransitionend = () => add('COMPLETE'); requestAnimationFrame(() => { p.style.opacity = 0 })",
    "idle": "requestIdleCallback(() => add('COMPLETE'))",
    "messages": "const c = new MessageChannel(); let n = 0; c.port1.onmessage = () => ++n < 200 ?"
    "c.port2.postMessage(1) : add('COMPLETE'); c.port2.postMessage(1)",
    "stored data": "indexedDB.open('x').onsuccess = () => add('COMPLETE')",
    "worker": "new Worker(URL.createObjectURL(new Blob(['let s = 0; for (let i = 0; i < 3e6; i++) s += i;"
    "postMessage(s)']))).onmessage = () => add('COMPLETE')",
    "timer of a worker": "new Worker(URL.createObjectURL(new Blob(['setTimeout(() => postMessage(1), 200)'])))"
    ".onmessage = () => add('COMPLETE')",
    "frame of another site": "onmessage = e => add(e.data); const f = document.createElement('iframe');"
    "f.src = 'OTHER/frame'; add(f)",
    "visible": "new IntersectionObserver(e => e[0].isIntersecting && add('COMPLETE')).observe(document.body)",
    "date": "const t = Date.now(); setTimeout(() => add(Date.now() - t >= 300 ? 'COMPLETE' : 'EARLY'), 300)",
}

#: They never end: read as they are after a while.
ENDLESS = {
    "clock": "setInterval(() => { document.querySelector('p').textContent = Date.now() }, 100)",
    "animation": "const f = () => { document.querySelector('p').textContent = Date.now();"
    "requestAnimationFrame(f) }; f()",
    "timers without a pause": "(function again() { document.title = Math.random(); setTimeout(again, 0) })()",
    "polling": "setInterval(() => fetch('/poll'), 300)",
    "polling without a pause": "(function again() { fetch('/poll').then(again) })()",
    "polling a slow server": "setInterval(() => fetch('OTHER/slow-poll', {mode: 'no-cors'}), 300)",
    "much later": "setTimeout(() => add('LATER'), 60000)",
}


class Outcome(NamedTuple):
    """A crawl of all pages."""

    crawl: Crawl
    texts: dict[str, str]
    site: Site


@pytest.fixture(scope="module")
def outcome(chromium: str) -> Iterator[Outcome]:
    """All pages in one crawl."""
    with scripted_site(2) as site:
        scripts = COMPLETE | ENDLESS
        paths = {name: f"/{number}" for number, name in enumerate(scripts)}
        script: dict[str, Any] = {
            path: Answer(
                f"<title>x</title><body><p>x<script>{ADD}{scripts[name].replace('OTHER', site.origins[1])}</script>",
                headers=HTML,
            )
            for name, path in paths.items()
        }
        script["/slow"] = Answer("COMPLETE", delay=0.3)
        script["/poll"] = Answer("polled")
        script["/slow-poll"] = Answer("polled", delay=1.0)  # the most requests of a page would take until the time-out
        script["2/frame"] = Answer(
            "<script>setTimeout(() => parent.postMessage('COMPLETE', '*'), 150)</script>", headers=HTML
        )
        site.script = script
        urls = {name: site.url(f"1{path}") for name, path in paths.items()}
        settings = {**IMPOLITE, "FRONTIER_RENDER_QUIET": 0.5, "FRONTIER_RENDER_TIMEOUT": 60}
        result = crawl(WISH, settings=settings, wishes=json.dumps(dict.fromkeys(urls.values(), True)))
        assert result.exit_code == 0, result.log
        items = {item["url"]: item for item in result.items}
        yield Outcome(result, {name: items[url]["text"].partition("</script>")[2] for name, url in urls.items()}, site)


@pytest.mark.parametrize("name", [*COMPLETE])
def test_page_is_complete(outcome: Outcome, name: str) -> None:
    """With what its script adds at the end."""
    assert "COMPLETE" in outcome.texts[name], outcome.texts[name]


def test_endless_pages_are_read(outcome: Outcome) -> None:
    """Long before the time-out; nobody waits for what comes in a minute."""
    assert outcome.crawl.stat("render/pages") == len(COMPLETE) + len(ENDLESS), outcome.crawl.log
    assert outcome.crawl.stat("render/unquiet") == 0
    assert not [name for name in outcome.crawl.stats if name.startswith("render/failed/")]
    assert "LATER" not in outcome.texts["much later"]


def test_a_page_leaves_nothing_to_the_next_one(chromium: str) -> None:
    """When it is left, neither redirects nor requests nor alert boxes; nor a name or a history for the next one."""
    leaving = """document.body.append('FOUND ' + name + ' ' + history.length + ' END');
    name = 'NAMED'; history.pushState(0, '', '#2'); setTimeout(() => history.go(-3), 20)
    for (const e of ['pagehide', 'unload', 'beforeunload', 'visibilitychange']) addEventListener(e, () => {
        for (let i = 0; i < 40; i++) fetch('/spent?' + i, {keepalive: true}).catch(() => 0);
        alert('x'); window.open('/pop'); location = '/stolen?1' });"""
    with scripted_site(2) as site:
        page = Answer(f"<title>x</title><body><script>{leaving}</script>", headers=HTML)
        site.script = {f"{1 + number % 2}/{number}": page for number in range(4)}
        wishes = {site.url(place): True for place in site.script}
        result = crawl(WISH, settings={**IMPOLITE, "FRONTIER_RENDER_PAGES": 1}, wishes=json.dumps(wishes))
        assert result.exit_code == 0, result.log
        assert len(result.items) == 4
        found = [re.search(r">FOUND  [12] END<", item["text"]) for item in result.items]  # about:blank may count, too
        assert all(found), [item["text"] for item in result.items]
        assert len(site.places()) == 4
        assert result.stat("render/redirects") == 0
