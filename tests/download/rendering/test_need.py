"""Which pages need their scripts, by their HTML."""

from functools import partial

import pytest

from crawlproject.download.rendering.need import EMPTY_ROOT, LITTLE, MAX_EXAMINED, NOSCRIPT, reason_to_render
from tests.cpu import cpu_seconds

TEXT = "<p>" + "Some words that a reader sees. " * 20 + "</p>"
SCRIPT = "<script src=/a.js></script>"

NEEDED = {
    "react": ('<div id="root"></div>' + SCRIPT, EMPTY_ROOT),
    "with a spinner": ('<div id="app"><span>Loading ...</span></div>' + SCRIPT, EMPTY_ROOT),
    "angular": ("<app-root></app-root>" + SCRIPT, EMPTY_ROOT),
    "angularjs": ("<div ng-app=shop><div ng-view></div></div>" + SCRIPT, EMPTY_ROOT),
    "asks": ("<noscript>You need to enable JavaScript to run this app.</noscript>" + SCRIPT, NOSCRIPT),
    "scripts only": (SCRIPT + "<script>start()</script>", LITTLE),
    "custom element": ("<shop-app>Loading ...</shop-app><script type=module src=/a.js></script>", LITTLE),
    "nothing but a script": ("<div class=page></div>" + SCRIPT, LITTLE),
    "templates": ("<div v-scope><h1>{{ title }}</h1><p>{{ text.trim() }}</p></div>" + SCRIPT, LITTLE),
    "is loading": ("<div hx-get=/part hx-trigger=load>Loading ...</div>" + SCRIPT, LITTLE),
    "capitals": ("<DIV ID=ROOT></DIV><SCRIPT SRC=/a.js></SCRIPT>", EMPTY_ROOT),
}

NOT_NEEDED = {
    "empty": "",
    "not html": "\0\xff<<<>>>&#xffffffff;",
    "no script": '<div id="root"></div>',
    "data only": '<div id="root"></div><script type="application/ld+json">{}</script>',
    "text": f'<div id="root">{TEXT}</div>{SCRIPT}{SCRIPT}',
    "links": "".join(f"<a href={n}>{n}</a>" for n in range(5)) + SCRIPT * 2,
    "one script": "<p>Short.</p>" + SCRIPT,
    "custom element among others": "<p>A few words.</p><div><my-menu></my-menu></div>" + SCRIPT,
    "noscript image": "<p>A few words here, and a table of contents: " + "one, two, three, four " * 5 + "</p>"
    "<noscript><img src=/count.gif></noscript>" + SCRIPT * 3,
    "refresh": "<meta http-equiv=Refresh content='0; url=/new'>" + SCRIPT * 2,
}


@pytest.mark.parametrize("name", [*NEEDED])
def test_pages_that_need_scripts(name: str) -> None:
    """They have a script, and hardly anything else."""
    body, reason = NEEDED[name]
    assert reason_to_render(f"<!doctype html><title>Some title</title><body>{body}</body>".encode()) == reason


@pytest.mark.parametrize("name", [*NOT_NEEDED])
def test_pages_that_do_not(name: str) -> None:
    """They have text or links, or no script, or lead elsewhere."""
    assert reason_to_render(f"<!doctype html><body>{NOT_NEEDED[name]}</body>".encode("latin-1", "replace")) is None


def test_frames_need_none() -> None:
    """Their pages are fetched by themselves."""
    page = f"<html><head>{SCRIPT * 2}</head><frameset><frame src=a></frameset></html>"
    assert reason_to_render(page.encode()) is None


FILLINGS = {
    "style": "<style>" + "p > a::before{color:red}<!-- -->" * 20_000 + "</style>",
    "data": f"<SCRIPT type=application/json>{'1,' * 200_000}</SCRIPT>",
    "program": f"<script data-of='a > b' x=\"'>\">let x = '<style>'; {'f();' * 100_000}</script>",
    "image": f'<img src="data:image/png;base64,{"A" * 400_000}">',
    "several": f"<style>{'a{}' * 50_000}</style><script>{'f();' * 50_000}</script>" * 6,
}


@pytest.mark.parametrize("name", [*FILLINGS])
def test_what_fills_a_page_does_not_count_as_its_start(name: str) -> None:
    """The page is judged by its text, or its root, behind 400 kB of scripts, style sheets or data."""
    head = f"<html><head>{FILLINGS[name]}{SCRIPT * 2}</head><body>"
    assert reason_to_render(f"{head}{TEXT}</body>".encode()) is None
    assert reason_to_render(f"{head}<div id=app></div>".encode()) == EMPTY_ROOT
    assert reason_to_render(f"{head}<div></div>".encode()) == LITTLE


def test_pages_whose_text_is_not_reached_need_none() -> None:
    """The start of a page shows nothing if it is drawings, or a script that does not end, as of a page that was cut."""
    drawing = "<svg><path d='M0 0'/></svg>" * 20_000
    assert reason_to_render(f"{SCRIPT * 2}{drawing}{TEXT}".encode()) is None
    assert reason_to_render(f"{SCRIPT * 2}<script>{'f();' * 100_000}".encode()) is None


def test_data_of_an_application_may_be_an_attribute() -> None:
    """As Inertia does it: the root is empty, but long."""
    root = f'<div id="app" data-page="{"{&quot;name&quot;:1}," * 20_000}"></div>'
    assert reason_to_render(f"<html><body>{root}{SCRIPT}</body></html>".encode()) == EMPTY_ROOT


@pytest.mark.parametrize(
    "piece", ["<div>", "<script></script>", "<script a='<script></script>", "<svg>", "<style>", '="' + "a" * 1000 + '"']
)
def test_time_is_bounded(piece: str) -> None:
    """Of a page of any size, and of the longest that is looked at as a whole."""
    for size in (MAX_EXAMINED, 16 * MAX_EXAMINED, 20 * MAX_EXAMINED):
        body = piece.encode() * (size // len(piece))
        assert cpu_seconds(lambda body=body: partial(reason_to_render, body)) < 0.25
