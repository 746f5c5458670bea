"""Crawler traps: addresses of pages without end, made as they are asked for."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .population import Server

CALENDAR = re.compile(r"/calendar/([0-9]{4,6})/([0-9]{2})/")
REPEAT = re.compile(r"/(?:a/b/)+")
SESSION = re.compile(r"(?:;jsessionid=|\?PHPSESSID=|\?sid=)[0-9a-f]+$")

ENTRIES = {"calendar": "/calendar/2003/01/", "repeat": "/a/b/"}


def trap_links(server: Server, target: str) -> list[str] | None:
    """The links of the trap's page at `target`; None where the server has no such page."""
    if server.trap == "repeat" and REPEAT.fullmatch(target):
        return ["a/b/", "/"]
    found = CALENDAR.fullmatch(target) if server.trap == "calendar" else None
    if found is None:
        return None
    month = int(found[1]) * 12 + int(found[2]) - 1
    return [f"/calendar/{each // 12:04}/{each % 12 + 1:02}/" for each in (month - 1, month + 1)] + ["/"]


def session_id(server: Server, visit: int) -> str:
    """What this server appends to a link on its `visit`-th response: the same for the same visit, else another."""
    digest = hashlib.blake2b(f"{server.address}/{visit}".encode(), digest_size=8)
    return server.session_form + digest.hexdigest()


def without_session(target: str) -> str:
    """A request target with its session id dropped."""
    return SESSION.sub("", target)
