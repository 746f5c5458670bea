"""Crawler traps: infinite sets of pages, generated on request."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .population import Server

CALENDAR = re.compile(r"/calendar/([0-9]{4,6})/([0-9]{2})/")
REPEAT = re.compile(r"/(?:a/b/)+")
DIARY = re.compile(r"/diary/(month|day)\.php\?year=([0-9]{4,6})&month=([0-9]{1,2})(?:&day=([0-9]{1,2}))?")
SESSION = re.compile(r"(?:;jsessionid=|\?PHPSESSID=|\?sid=|\?visit=)[0-9a-f]+$")

ENTRIES = {"calendar": "/calendar/2003/01/", "diary": "/diary/month.php?year=2020&month=6", "repeat": "/a/b/"}
WITH_IDS = ("session", "visit")


def trap_links(server: Server, target: str) -> list[str] | None:
    """The links of the trap's page at `target`; None if the server has no such page."""
    if server.trap == "repeat" and REPEAT.fullmatch(target):
        return ["a/b/", "/"]
    diary = DIARY.fullmatch(target) if server.trap == "diary" else None
    if diary is not None:
        return _diary_links(*diary.groups())
    found = CALENDAR.fullmatch(target) if server.trap == "calendar" else None
    if found is None:
        return None
    month = int(found[1]) * 12 + int(found[2]) - 1
    return [f"/calendar/{each // 12:04}/{each % 12 + 1:02}/" for each in (month - 1, month + 1)] + ["/"]


def _diary_links(view: str, year: str, month: str, day: str | None) -> list[str]:
    """A month links to its neighbours and its days, a day to its neighbours and its month."""
    number = int(year) * 12 + int(month) - 1
    months = [_month(each) for each in ((number,) if view == "day" else (number - 1, number + 1))]
    today = int(day or 0)
    days = [each for each in (today - 1, today + 1) if 1 <= each <= 28] if view == "day" else list(range(1, 29))
    path = _month(number).replace("month.php", "day.php")
    return [*months, *(f"{path}&day={each}" for each in days), "/"]


def _month(number: int) -> str:
    return f"/diary/month.php?year={number // 12:04}&month={number % 12 + 1}"


def session_id(server: Server, visit: int) -> str:
    """The session id in the links of this server's `visit`-th response: the same for the same visit."""
    digest = hashlib.blake2b(f"{server.address}/{visit}".encode(), digest_size=8)
    return server.session_form + digest.hexdigest()


def without_session(target: str) -> str:
    """A request target without its session id."""
    return SESSION.sub("", target)
