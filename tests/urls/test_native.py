"""The extension in C: used if it is installed, of this version, and not switched off; with the results of Python."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlproject.urls import Canonicalizer, native, parse_budget
from crawlproject.urls.canonical import MAX_REFERENCE, origin_of
from crawlproject.urls.native import NATIVE

from .conftest import PROPERTY, url_like

CANONICALIZER = Canonicalizer()
BASES = (
    "http://h.org/a/b/c.html?q=1",
    "https://h.org",
    "http://H.org:80/x/",
    "http://h.org/a/./b/",
    "http://h.org/;jsessionid=1F",
    "http://bücher.de/ä/",
    "http://h.org/%41/%zz#x",
    "nonsense",
)
#: Mostly plain.
PIECES = ["/", "//", "a", "B.html", "..", ".", "./", "../", "?", "&x=1", ";", "#", "%2F", "%2f", "%41", ":", "'", "é"]
LINKS = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=6).map("".join),
    st.lists(st.sampled_from(PIECES), max_size=6).map(lambda parts: "http://h.org" + "".join(parts)),
    url_like(),
)
TAGS = [
    "<",
    "</",
    ">",
    "/",
    " ",
    "\t",
    "\x1c",
    "\u2003",
    "b",
    "B",
    "i",
    "Strong",
    "strike",
    "strikes",
    "font",
    "x",
    "1",
]

needs_extension = pytest.mark.skipif(
    NATIVE is None, reason="the extension in native/ is not installed: scripts/install"
)


@needs_extension
@PROPERTY
@given(LINKS, st.sampled_from(BASES))
def test_plain_links_are_those_of_python(href: str, base: str) -> None:
    """Each link that it joins is what Python makes of it; the others are left to Python."""
    prepared = CANONICALIZER._prepare(base, "utf-8")
    plain = NATIVE.PlainLinks(prepared, origin_of, CANONICALIZER._rules.may_strip, MAX_REFERENCE)
    found = plain(href)
    assert found is None or found == CANONICALIZER._link(href, prepared)
    assert CANONICALIZER.batch([href], base) == [CANONICALIZER.canonical(href, base)]


@needs_extension
def test_which_links_it_joins() -> None:
    """The usual ones, also with a query; not what needs the parser, or may lose a parameter."""
    prepared = CANONICALIZER._prepare(BASES[0], "utf-8")
    plain = NATIVE.PlainLinks(prepared, origin_of, CANONICALIZER._rules.may_strip, MAX_REFERENCE)
    for href, url in {
        "": "http://h.org/a/b/c.html?q=1",
        "#top": "http://h.org/a/b/c.html?q=1",
        "d.html": "http://h.org/a/b/d.html",
        "../../../d": "http://h.org/d",
        "./../d?e": "http://h.org/a/d?e",
        "/x?y=%2F#z": "http://h.org/x?y=%2F",
        "?": "http://h.org/a/b/c.html",
        "?r=2": "http://h.org/a/b/c.html?r=2",
        "https://I.org:443": "https://i.org/",
        "http://i.org?r": "http://i.org/?r",
        f"/{'x' * (MAX_REFERENCE - 1)}": f"http://h.org/{'x' * (MAX_REFERENCE - 1)}",
    }.items():
        assert plain(href) == url
    long = f"/{'x' * MAX_REFERENCE}"
    for href in (".", "..", "../.d", "..//a:b", "//i.org/", "a/./b", "/%41", "/é", "mailto:a", "http://a_b/", "a b"):
        assert plain(href) is None
    assert plain("?utm_source=x") is plain(long) is None
    for wrong in (None, b"/x", 1):
        with pytest.raises(TypeError):
            plain(wrong)


@needs_extension
@PROPERTY
@given(st.lists(st.sampled_from(TAGS) | st.text(max_size=3), max_size=30).map("".join))
def test_open_formatting_elements_are_those_of_python(text: str) -> None:
    """For any text that looks like tags."""
    assert parse_budget._most_open(text) == parse_budget.most_open(text)


def test_another_version_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor one without a number, nor one that cannot be imported."""
    module = ModuleType("crawlproject_native")
    monkeypatch.setitem(sys.modules, "crawlproject_native", module)
    monkeypatch.delenv("CRAWLPROJECT_NATIVE", raising=False)
    assert native._installed() is None
    module.INTERFACE = native.INTERFACE + 1  # type: ignore[attr-defined]
    assert native._installed() is None
    module.INTERFACE = native.INTERFACE  # type: ignore[attr-defined]
    assert native._installed() is module
    monkeypatch.setenv("CRAWLPROJECT_NATIVE", "off")
    assert native._installed() is None
    monkeypatch.delenv("CRAWLPROJECT_NATIVE")
    monkeypatch.setitem(sys.modules, "crawlproject_native", None)
    assert native._installed() is None


def test_without_it_all_is_python() -> None:
    """Every function has its own in Python."""
    program = (
        "from crawlproject.content import page_marks, sketch, plain_shingles, IS_FAST\n"
        "from crawlproject.urls import native, parse_budget, Canonicalizer\n"
        "assert native.NATIVE is None and not IS_FAST\n"
        "assert page_marks._marks_of_text is page_marks.marks_of_text\n"
        "assert parse_budget._most_open is parse_budget.most_open\n"
        "assert sketch._summary() is plain_shingles.summary\n"
        "print(Canonicalizer().batch(['b', '//c'], 'http://h/a'))"
    )
    blocked = "import sys; sys.modules['numpy'] = sys.modules['crawlproject_native'] = None\n"
    done = subprocess.run([sys.executable, "-c", blocked + program], capture_output=True, text=True, check=False)
    assert done.stdout == "['http://h/b', 'http://c/']\n", done.stderr
