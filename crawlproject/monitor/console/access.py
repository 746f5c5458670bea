"""Access to the console: checks host names, origins and the token before anything else."""

from __future__ import annotations

import hmac
import json
import logging
import os
import secrets
import stat
import tempfile
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from aiohttp import web

from crawlproject.options.monitor import MIN_TOKEN

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from crawlproject.options.monitor import ConsoleOptions

logger = logging.getLogger(__name__)

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cache-Control": "no-store",
}

#: Environment variable with the token of all workers of a command; ``scrapy console`` reads it, too.
TOKEN_VARIABLE = "CRAWLPROJECT_TOKEN"

#: What a page of another site may not send: such requests would come with ``Sec-Fetch-Site: cross-site``.
_OWN_SITES = frozenset(("same-origin", "none"))


class Access:
    """Checks requests; ``token`` is the one made at the start, or set by hand."""

    def __init__(self, options: ConsoleOptions) -> None:
        common = os.environ.get(TOKEN_VARIABLE, "")
        self.token = options.token or (common if len(common) >= MIN_TOKEN else secrets.token_urlsafe(32))
        self._options = options

    def is_host(self, host: str) -> bool:
        """Whether a browser may call the console by this ``Host``.

        A name that a stranger's DNS may have given us is refused, unless ``FRONTIER_CONSOLE_TOKEN`` is set, as for a
        proxy.
        """
        try:
            name = urlsplit(f"//{host}").hostname or ""
        except ValueError:
            return False
        if name == "localhost" or (self._options.token and name):
            return True
        try:
            address = ip_address(name)
        except ValueError:
            return False
        return address.is_loopback or not self._options.is_local

    def is_own_origin(self, request: web.Request) -> bool:
        """Whether the request comes from the console's own page, or from no page at all."""
        if request.headers.get("Sec-Fetch-Site", "none") not in _OWN_SITES:
            return False
        origin = request.headers.get("Origin")
        if origin is None:
            return True
        parts = urlsplit(origin)
        return parts.scheme in ("http", "https") and parts.netloc.lower() == request.host.lower()

    def has_token(self, request: web.Request) -> bool:
        """Whether the request has the token; compared in constant time."""
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        token = given.strip().encode("utf-8", "surrogateescape")
        return scheme.lower() == "bearer" and hmac.compare_digest(token, self.token.encode())

    def refusal(self, request: web.Request) -> tuple[int, str] | None:
        """(Status, reason) if the request is refused."""
        if not self.is_host(request.host):
            return 403, "this host name is allowed only if FRONTIER_CONSOLE_TOKEN is set"
        if not self.is_own_origin(request) and not is_followed_link(request):
            return 403, "requests from other sites are not allowed"
        if request.path.startswith("/api/") and not self.has_token(request):
            return 401, "the token is missing or wrong"
        if request.method == "POST" and request.content_type != "application/json":
            return 415, "the body must be JSON, with Content-Type: application/json"
        return None


def is_followed_link(request: web.Request) -> bool:
    """Whether a person followed a link to the page, as from another worker's console: it has no data in it."""
    headers = request.headers
    modes = (headers.get("Sec-Fetch-Mode"), headers.get("Sec-Fetch-Dest"), headers.get("Origin"))
    return request.method == "GET" and request.path == "/" and modes == ("navigate", "document", None)


def access_middleware(access: Access) -> Any:
    """The outermost middleware: refuses, and turns errors into answers."""

    @web.middleware
    async def check(
        request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        try:
            refusal = access.refusal(request)
            return await handler(request) if refusal is None else failure(*refusal)
        except web.HTTPException as error:
            return failure(error.status, error.reason)
        except ValueError as error:
            return failure(400, " ".join(str(error).split())[:500])
        except (ConnectionError, TimeoutError):
            raise
        except Exception:
            logger.exception("The console failed: %s %.200r", request.method, request.path)
            return failure(500, "an error of the console: see the log")

    return check


async def add_headers(_: web.Request, response: web.StreamResponse) -> None:
    """A handler of ``on_response_prepare``: every answer has them, streams as well."""
    response.headers.update(HEADERS)


def failure(status: int, reason: str) -> web.Response:
    return web.json_response({"error": reason}, status=status)


class Ticket:
    """The file with address and token, which only its owner can read; ``scrapy console`` finds it."""

    def __init__(self, options: ConsoleOptions) -> None:
        self.path = ticket_path(options.port, options.job)
        self._is_private = options.job is None

    def write(self, url: str, token: str) -> bool:
        """Replace the file; returns False, with an error in the log, if that fails."""
        new = self.path.with_suffix(f".{os.getpid()}")
        try:
            if self._is_private:
                make_private(self.path.parent)
            new.unlink(missing_ok=True)
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123 - a descriptor
                json.dump({"url": url, "token": token, "pid": os.getpid()}, file)
            new.replace(self.path)
        except OSError as error:
            logger.error("Address and token of the console cannot be written to %s: %s", self.path, error.strerror)
            return False
        return True

    def remove(self) -> None:
        """Delete the file, if it is still ours."""
        try:
            if json.loads(self.path.read_text(encoding="utf-8")).get("pid") == os.getpid():
                self.path.unlink()
        except (OSError, ValueError, AttributeError):
            pass


def ticket_path(port: int, job: Path | None = None) -> Path:
    """The file with address and token of the console of a crawl, with the JOBDIR ``job`` or without one."""
    folder = Path(tempfile.gettempdir()) / f"crawlproject-{os.getuid()}" if job is None else job
    return folder / f"console-{port}.json"


def make_private(folder: Path) -> None:
    """Make ``folder``, for this user alone. Raises OSError if somebody else has made it, or may write to it."""
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise PermissionError(1, "not a directory of this user alone")
