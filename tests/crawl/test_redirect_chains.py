"""Redirects that lead back: to another spelling of a page, or to a page that a cookie set since then has changed."""

import re
from collections.abc import Callable, Mapping

import pytest

from tests.crawl.differential import QUICK, Run, run_on
from tests.crawl.scripted_site import Answer, Asked, Site, page, redirect, scripted_site

#: Stand for the origins of the two servers in answers.
ONE, TWO = "http://one.invalid", "http://two.invalid"

WEB = "crawlproject.spiders.web.WebSpider"


def refresh(url: str) -> Answer:
    """A page that leads elsewhere."""
    body = f"<meta http-equiv=refresh content='0;url={url}'><a href=/of-refresh>link</a>"
    return Answer(body, headers={"Content-Type": "text/html"})


def setting(cookie: str, answer: Answer) -> Answer:
    """``answer``, with a cookie."""
    return Answer(answer.body, answer.status, {**answer.headers, "Set-Cookie": f"{cookie}; Path=/"})


def behind(
    wall: Answer | Callable[[Asked], Answer], *links: str, cookie: str = "ok=1", then: Answer | None = None
) -> Callable[[Asked], Answer]:
    """A page with links, or ``then``, for clients that send the cookie; ``wall`` for others."""

    def answer(asked: Asked) -> Answer:
        if cookie in asked.headers.get("cookie", ""):
            return then or page(*links)
        return wall(asked) if callable(wall) else wall

    return answer


Script = Mapping[str, Answer | Callable[[Asked], Answer]]

#: Name -> script; the crawl begins at /a, whose page links to /end.  ``TWO`` is the other server.
WALLS: dict[str, Script] = {
    "itself": {"1/a": behind(setting("ok=1", redirect("/a")), "/end")},
    "page between": {"1/a": behind(redirect("/check"), "/end"), "1/check": setting("ok=1", redirect("/a"))},
    "cookie before": {"1/a": behind(setting("ok=1", redirect("/check")), "/end"), "1/check": redirect("/a")},
    "two between": {
        "1/a": behind(redirect("/one"), "/end"),
        "1/one": setting("ok=1", redirect("/two")),
        "1/two": redirect("/a"),
    },
    "two cookies": {
        "1/a": behind(
            behind(redirect("/first"), cookie="first=1", then=redirect("/second")), "/end", cookie="second=1"
        ),
        "1/first": setting("first=1", redirect("/a")),
        "1/second": setting("second=1", redirect("/a")),
    },
    "other server": {
        "1/a": behind(redirect(TWO + "/check"), "/end"),
        "2/check": redirect(ONE + "/set"),
        "1/set": setting("ok=1", redirect("/a")),
    },
    "refresh": {"1/a": behind(refresh("/check"), "/end"), "1/check": setting("ok=1", refresh("/a"))},
    "refresh and redirect": {"1/a": behind(refresh("/check"), "/end"), "1/check": setting("ok=1", redirect("/a"))},
    "redirect and refresh": {"1/a": behind(redirect("/check"), "/end"), "1/check": setting("ok=1", refresh("/a"))},
    "refresh over another server": {
        "1/a": behind(refresh(TWO + "/check"), "/end"),
        "2/check": refresh(ONE + "/set"),
        "1/set": setting("ok=1", refresh(ONE + "/a")),
    },
}


def crawled(script: Script, *places: str, **settings: object) -> Run:
    with scripted_site(2) as site:
        site.script = {place: _placed(site, answer) for place, answer in script.items()}
        chosen = {**QUICK, "COOKIES_ENABLED": True, "FRONTIER_GUARD_PROBES": False, **settings}
        return run_on(site, WEB, settings=chosen, seeds=",".join(map(site.url, places)))


def _placed(site: Site, answer: Answer | Callable[[Asked], Answer], folder: str = "") -> Callable[[Asked], Answer]:
    """``answer`` with the addresses of the servers, and all paths below ``folder``."""

    def place(text: str) -> str:
        text = re.sub(r"(^|=|\"|test|invalid)/(?=\w)", rf"\1{folder}/", text)
        return text.replace(ONE, site.origins[0]).replace(TWO, site.origins[1])

    def give(asked: Asked) -> Answer:
        given = answer(asked) if callable(answer) else answer
        headers = {name: place(value) for name, value in given.headers.items() if name != "Content-Type"}
        if "Set-Cookie" in headers:
            headers["Set-Cookie"] = headers["Set-Cookie"].replace("Path=/", f"Path={folder}/")
        return Answer(place(str(given.body)), given.status, {**given.headers, **headers})

    return give


def walls(**settings: object) -> dict[str, dict[str, int]]:
    """Wall -> how often its pages were asked for: each is in a folder of its own."""
    with scripted_site(2) as site:
        script = {}
        for name, wall in WALLS.items():
            folder = f"/{name.replace(' ', '-')}"
            for where, answer in {**wall, "1/end": page()}.items():
                script[f"{where[0]}{folder}{where[1:]}"] = _placed(site, answer, folder)
        site.script = script
        chosen = {**QUICK, "FRONTIER_GUARD_PROBES": False, **settings}
        seeds = ",".join(site.url(f"1/{name.replace(' ', '-')}/a") for name in WALLS)
        done = run_on(site, WEB, settings=chosen, seeds=seeds)
    found: dict[str, dict[str, int]] = {name: {} for name in WALLS}
    for place, times in done.asked().items():
        server, folder, path = place.split("/")
        found[folder.replace("-", " ")][f"{server}/{path}"] = times
    return found


def test_pages_behind_a_cookie_are_read() -> None:
    """Wherever on the way back to one the cookie was set; each page of the way is requested as often as needed."""
    for name, asked in walls(COOKIES_ENABLED=True).items():
        assert asked["1/end"] == 1, name
        assert asked["1/a"] == (3 if name == "two cookies" else 2), name


def test_no_loop_without_cookies() -> None:
    """A crawl that sends none asks for each page once."""
    for name, asked in walls(COOKIES_ENABLED=False).items():
        assert set(asked.values()) == {1}, name


def test_a_loop_that_sets_cookies_ends() -> None:
    """A server that does not want to know its own cookies: three requests for each page."""
    script = {"1/a": setting("a=1", redirect("/b")), "1/b": setting("b=1", redirect("/a"))}
    assert max(crawled(script, "1/a").asked().values()) == 3


def test_pages_that_refresh_in_a_circle_are_kept() -> None:
    """The last one of a slide show, where the circle closes, is read."""
    script = {"1/a": refresh("/b"), "1/b": refresh("/c"), "1/c": refresh("/a"), "1/of-refresh": page()}
    done = crawled(script, "1/a")
    assert done.asked() == {"1/a": 1, "1/b": 1, "1/c": 1, "1/of-refresh": 1}


def test_several_pages_behind_one_check_are_read() -> None:
    """The server is asked for the check first, so that the others need none."""
    names = [f"/p{number}" for number in range(5)]
    script = {f"1{name}": behind(redirect(f"/check?back={name}"), f"{name}/end") for name in names}
    script |= {f"1/check?back={name}": setting("ok=1", redirect(name)) for name in names}
    script |= {f"1{name}/end": page() for name in names}
    done = crawled(script, *(f"1{name}" for name in names))
    assert {place for place in done.asked() if place.endswith("/end")} == {f"1{name}/end" for name in names}


@pytest.mark.parametrize(("status", "cookies"), [(301, False), (302, True)])
def test_a_redirect_that_reorders_parameters_is_followed(status: int, cookies: bool) -> None:
    """The seen-set takes both spellings for one page, which was not fetched yet."""
    script = {
        "1/list?page=2&sort=a": redirect("/list?sort=a&page=2", status),
        "1/list?sort=a&page=2": page("/end"),
        "1/round?a=1&b=2": redirect("/round?b=2&a=1", status),
        "1/round?b=2&a=1": redirect("/round?a=1&b=2", status),
        "1/end": page(),
    }
    done = crawled(script, "1/list?page=2&sort=a", "1/round?a=1&b=2", COOKIES_ENABLED=cookies)
    assert done.asked() == dict.fromkeys(script, 1)
