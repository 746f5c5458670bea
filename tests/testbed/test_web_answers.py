"""What the servers answer over real sockets: pages, robots.txt, refusals, redirects, and the notes in the log."""

import pytest

from testbed.web import LocalWeb, Record

from .browser import browse, fast, visit


def notes(records: list[Record], kind: str) -> list[str]:
    return [each.note for each in records if each.kind == kind]


def test_disallowed_page_is_served_and_noted() -> None:
    """Fetching what robots.txt forbids leaves a note in the log."""

    async def client(local: LocalWeb) -> None:
        web = local.web
        async with browse(local) as browser:
            private = next(path for path in web.paths[: web.servers[0].page_count] if "/private/" in path)
            assert (await browser.get(private)).status == 200

    assert notes(visit(fast(robots_disallow_share=1.0), client), "request") == ["disallowed"]


@pytest.mark.parametrize(("server", "form"), [(0, "1"), (1, "GMT")])
def test_throttle_refuses_and_notes_who_comes_too_early(server: int, form: str) -> None:
    """The first request gets 429, a second one at once is a violation; robots.txt is answered all the same."""

    async def client(local: LocalWeb) -> None:
        async with browse(local, server) as browser:
            replies = [await browser.get(target) for target in ("/robots.txt", "/", "/p1.html", "/robots.txt")]
        assert [reply.status for reply in replies] == [200, 429, 429, 200]
        assert replies[1].headers["retry-after"].endswith(form)

    records = visit(fast(throttled_share=1.0, retry_after=1, robots_missing_share=0.0), client)
    noted = ["robots", "throttled", "throttled,retry-after", "robots,retry-after"]
    assert notes(records, "request") == noted
