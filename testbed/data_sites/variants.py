"""Other addresses of the same pages: variants that each page links to, and tokens in all links."""

from __future__ import annotations

import re
from itertools import count
from typing import NamedTuple
from urllib.parse import quote

from testbed.data_sites.beside import Answer, Trap, beside, real_part
from testbed.data_sites.calendars import CALENDARS
from testbed.data_sites.layout import BUDGET
from testbed.data_sites.site import Site, key


def _variant(kind: str, forms: list[str], pattern: str, text: str = "") -> Trap:
    """Each page has other addresses: of the same page, or of one with ``text``."""

    def area(path: str) -> Answer:
        found = re.fullmatch(pattern, path)
        if found is None:
            return None
        return (kind.capitalize(), f"<p>{text.replace('{}', found[1])}</p>", []) if text else found[1]

    def doors(path: str) -> list[str]:
        is_plain = "?" not in path and re.fullmatch(pattern, path) is None
        code = quote(path, safe="")
        return [form.format(path=path, code=code, at=key(4, path)) for form in forms] if is_plain else []

    return Trap(kind, area, doors)


_LANGUAGES = ("en", "de", "fr", "es", "it", "pt", "nl", "pl", "cs", "sv", "ja", "zh", "ko", "ru", "tr")
VARIANTS = {
    "replytocom": _variant("replies", [f"{{path}}?replytocom={at}" for at in range(8)], r"(.+)\?replytocom=[0-9]+"),
    "print": _variant("print versions", ["/print{path}", "/pdf{path}", "/text{path}"], "/(?:print|pdf|text)(/.*)"),
    "print-parameter": _variant("print versions", ["{path}?print=1", "{path}?pdf=1"], r"(.+)\?(?:print|pdf)=1"),
    "login": _variant("log in", ["/login?next={code}", "/new?next={code}"], r"/(?:login|new)\?next=(.+)", "Your name?"),
    "cart": _variant("a cart", ["/cart?add={code}", "/list?add={code}"], r"/(?:cart|list)\?add=(.+)", "It is empty."),
    "language": _variant("languages", [f"{{path}}?lang={each}" for each in _LANGUAGES], r"(.+)\?lang=[a-z]+"),
    "share": _variant("share", ["/share?u={code}", "/mail?u={code}"], r"/(?:share|mail)\?u=(.+)", "Tell: {}"),
    "theme": _variant("themes", [f"{{path}}?font={at}&theme=dark" for at in range(6)], r"(.+)\?font=[0-9]&theme=dark"),
    "amp": _variant("mobile versions", ["{path}?amp=1", "{path}?m=1", "{path}?v={at}"], r"(.+)\?(?:amp|m|v)=[0-9a-f]+"),
}  # fmt: skip


class _Token(NamedTuple):
    """Each link has something new.

    ``form``: with ``page``, new for each request, ``link`` and ``digits``, new for each link, ``back``, the page that
    the link is on.
    """

    kind: str
    form: str
    #: What is taken away for the page itself.
    pattern: str


def _with_tokens(site: str, at: int, token: _Token, extra: Trap | None = None) -> Site:
    """The real part ``at``, with a token in all its links; with ``extra``, another trap beside it."""
    inner = beside(site, at, extra) if extra is not None else None
    part = real_part(site, at)
    requests = count(1)

    def page_of(path: str) -> str:
        return re.sub(token.pattern, "", path, count=1) or "/"

    def quiet(path: str) -> str | None:
        return inner.render(path) if inner is not None else part.render(path, "")

    def render(path: str) -> str | None:
        page, request, links = quiet(page_of(path)), next(requests), count(1)
        back = quote(page_of(path), safe="")

        def tokened(found: re.Match[str]) -> str:
            new = key(16, site, request, next(links))
            given = {
                "page": key(24, site, request),
                "link": new,
                "digits": 10**12 + int(new, 16) % 10**11,
                "back": back,
            }
            return f'href="{token.form.format(path=found[1], **given)}"'

        return page and re.sub('href="(/[^"?]*)"', tokened, page)

    return Site(render, part.real(), BUDGET, token.kind, quiet, page_of, is_endless=True)


_TOKENS = {
    "session-path": _Token("an id in the path, new on each page", "{path};jsessionid={page}", ";jsessionid=[0-9a-f]+"),
    "session-query": _Token("a parameter new on each page", "{path}?PHPSESSID={page}", r"\?PHPSESSID=[0-9a-f]+"),
    "session-folder": _Token("a folder, new on each page", "/(S({page})){path}", r"^/\(S\([0-9a-f]+\)\)"),
    "session-unknown": _Token("a name of the site's own", "{path}?besuch={page}", r"\?besuch=[0-9a-f]+"),
    "session-link": _Token("an id new on each link", "{path}?sid={link}", r"\?sid=[0-9a-f]+"),
    "session-short": _Token("a folder new on each link", "/~{link}{path}", "^/~[0-9a-f]+"),
    "token-t": _Token("t= new on each link", "{path}?t={digits}", r"\?t=[0-9]+"),
    "token-ref": _Token("ref= is the page that a link is on", "{path}?ref={back}", r"\?ref=[^&]*"),
    "token-underscore": _Token("_= new on each link", "{path}?_={digits}", r"\?_=[0-9]+"),
    "token-from": _Token("where a link stands", "{path}?from={back}&amp;pos={link:.2}", r"\?from=[^&]*&pos=[0-9a-f]+"),
}


def with_tokens() -> dict[str, Site]:
    """Sites with tokens in their links, by name."""
    found = {site: _with_tokens(site, at, token) for at, (site, token) in enumerate(_TOKENS.items())}
    calendar = CALENDARS["calendar"].trap()
    return found | {"two-at-once": _with_tokens("two-at-once", 0, _TOKENS["token-t"], calendar)}
