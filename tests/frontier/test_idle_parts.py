"""Parts of addresses that do not change the page."""

from __future__ import annotations

from zlib import crc32

import pytest

from crawlproject.frontier.guard.idle_parts import VERSION, IdleParts
from crawlproject.frontier.state import StateReader

SITE = "http://a.example"


def learned(*forms: str, pages: int = 9, shown: str = "{page}") -> IdleParts:
    """What is learned from so many pages, each under all ``forms`` of its address, with the text ``shown``."""
    idle = IdleParts()
    for page in range(pages):
        for visit, form in enumerate(forms):
            url = SITE + form.format(page=page, id=f"{page:04x}{visit}f3c9a77b")
            text = shown.format(page=page, visit=visit)
            idle.learn(url, None, is_page=True, shown=lambda text=text: crc32(text.encode()))
    return idle


@pytest.mark.parametrize(
    ("form", "without"),
    [
        ("/p/{page}?sid={id}", "/p/{page}"),
        ("/p/{page}?a=1&ref={id}", "/p/{page}?a=1"),
        ("/p/{page};session={id}", "/p/{page}"),
        ("/s/{id}/p/{page}", "/s/p/{page}"),
        ("/(S({id}))/p/{page}", "/p/{page}"),
    ],
)
def test_ids_of_visits(form: str, without: str) -> None:
    """In parameters and folders: two values show one page."""
    idle = learned(form, form)
    url = SITE + form.format(page=77, id="00c0ffee99")
    assert idle.without(url) == SITE + without.format(page=77)
    assert not idle.is_version(url, set().__contains__)
    assert idle.is_version(url, {idle.without(url) + VERSION}.__contains__)


def test_several_parameters_at_once() -> None:
    """Where a link stands, and its number."""
    form = "/p/{page}?from={id}&pos={id}"
    assert learned(form, form).without(f"{SITE}/p/7?from=x&pos=y") == f"{SITE}/p/7"


@pytest.mark.parametrize("form", ["/record?id={id}", "/record/{id}", "/p/{page}?lang={id}", "/{id}"])
def test_what_selects_pages_is_not_idle(form: str) -> None:
    """Each value shows another text."""
    idle = learned(form, form, pages=40, shown="{page} {visit}")
    url = SITE + form.format(page=3, id="00c0ffee99")
    assert idle.without(url) == url


def test_an_id_as_the_last_segment_is_that_of_a_page() -> None:
    """Even if all pages show the same text: it may be in a file, or drawn by a script."""
    idle = learned("/doc/{id}", "/doc/{id}", shown="Paper")
    assert idle.without(f"{SITE}/doc/00c0ffee99") == f"{SITE}/doc/00c0ffee99"


def test_data_beside_a_page() -> None:
    """Answers that are no pages: each page's address with .ics."""
    idle = IdleParts()
    for page in range(9):
        idle.learn(f"{SITE}/event/{page}.ics", None, is_page=False, shown=int)
    assert idle.is_version(f"{SITE}/event/99.ics", {f"{SITE}/event/99"}.__contains__)
    assert not idle.is_version(f"{SITE}/event/98.ics", {f"{SITE}/event/99"}.__contains__)


def test_a_restart_changes_nothing() -> None:
    """What was learned, and the pages that may refute it."""
    idle = learned("/p/{page}?sid={id}", "/p/{page}?sid={id}")
    again = IdleParts.from_state(StateReader("x", idle.to_state()))
    assert again.to_state() == idle.to_state()
    assert again.without(f"{SITE}/p/7?sid=1") == f"{SITE}/p/7"


@pytest.mark.parametrize(
    "state",
    [{"parts": [["?a", 1]]}, {"parts": [["?a", 1, -1]]}, {"parts": 7}, {"pages": 7}, {"pages": "é"}, {"pages": "a"}],
)
def test_a_damaged_state_is_refused(state: object) -> None:
    """As a ValueError."""
    with pytest.raises(ValueError, match=r"."):
        IdleParts.from_state(StateReader("x", state))
