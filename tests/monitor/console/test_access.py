"""Who may use the console: hosts, origins, tokens, methods; and its files."""

import json
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from crawlproject.monitor.console.access import Access, Ticket, make_private
from crawlproject.monitor.console.api import FILES
from crawlproject.options.monitor import ConsoleOptions
from tests.monitor.console.client import Client
from tests.monitor.console.served import OPTIONS, Served


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with Served() as served:
        yield served


@pytest.fixture
def client(served: Served) -> Client:
    return Client(served.port, served.access.token)


def test_the_page_is_there_without_a_token_and_holds_no_data(client: Client) -> None:
    """Its files, and nothing else."""
    for name in FILES:
        answer = client.send("GET", "/" if name == "index.html" else f"/{name}", Authorization=None)
        assert answer.status == 200, name
        assert b"<script>alert" not in answer.body
    for path in ("/index.html", "/../setup.py", "/%2e%2e/api.py", "/api", "/api/x", "/uPlot.LICENSE", "/favicon.ico"):
        assert client.send("GET", path).status == 404, path


@pytest.mark.parametrize("path", ["/", "/console.js", "/api/state", "/api/x", "/nothing"])
def test_headers_of_every_answer(client: Client, path: str) -> None:
    """No foreign script, no frame, no cache."""
    headers = client.send("GET", path).headers
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Cache-Control"] == "no-store"
    assert "Access-Control-Allow-Origin" not in headers


@pytest.mark.parametrize("given", [None, "", "Bearer", "Bearer x", "Basic {}", "Bearer {}x", "bearer {}", "Bearer ü"])
def test_the_token_is_needed(client: Client, given: str | None) -> None:
    """As a bearer token; not in the URL, not in a cookie."""
    text = None if given is None else given.format(client.token).encode().decode("latin-1")
    expected = 200 if given == "bearer {}" else 401
    assert client.send("GET", "/api/state", Authorization=text).status == expected
    path = f"/api/state?token={client.token}"
    assert client.send("GET", path, Authorization=text, Cookie=f"token={client.token}").status == expected


@pytest.mark.parametrize(("header", "status"), [({"Authorization": "Bearer \xff"}, 401), ({"Origin": "http://["}, 400)])
def test_headers_that_cannot_be_read(
    client: Client, caplog: pytest.LogCaptureFixture, header: dict[str, Any], status: int
) -> None:
    """Anybody can send them: they are refused, without a line in the log."""
    answer = client.send("GET", "/api/state", **header)
    assert (answer.status, answer.headers["Content-Type"]) == (status, "application/json; charset=utf-8")
    assert not caplog.text


@pytest.mark.parametrize(
    ("host", "is_allowed"),
    [
        ("127.0.0.1:{}", True),
        ("localhost:{}", True),
        ("LOCALHOST", True),
        ("[::1]:{}", True),
        ("127.0.0.1.evil.example:{}", False),
        ("evil.example", False),
        ("192.168.1.5:{}", False),
        ("[", False),
        ("", False),
    ],
)
def test_a_name_that_strangers_control_is_refused(client: Client, host: str, is_allowed: bool) -> None:
    """DNS rebinding: their name, our address. The page itself is refused, too."""
    for path in ("/", "/api/state"):
        assert client.send("GET", path, Host=host.format(client.port)).status == (200 if is_allowed else 403)


@pytest.mark.parametrize(
    ("headers", "is_allowed"),
    [
        ({"Origin": "http://127.0.0.1:{}"}, True),
        ({"Sec_Fetch_Site": "same-origin"}, True),
        ({"Origin": "http://127.0.0.1:1"}, False),
        ({"Origin": "http://evil.example"}, False),
        ({"Origin": "null"}, False),
        ({"Sec_Fetch_Site": "cross-site"}, False),
        ({"Sec_Fetch_Site": "same-site"}, False),
        ({"Content_Type": "text/plain"}, False),
        ({"Content_Type": None}, False),
    ],
)
def test_other_sites_change_nothing(
    served: Served, client: Client, headers: dict[str, str | None], is_allowed: bool
) -> None:
    """Not even with the token: an action is a POST of JSON from the console's own page, or from no page."""
    before = served.room.paused
    given = {name: value and value.format(client.port) for name, value in headers.items()}
    status = client.send("POST", "/api/pause", b"{}", **given).status
    assert (status == 200) == is_allowed
    assert served.room.paused == before + is_allowed


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"])
def test_only_a_post_changes_anything(served: Served, client: Client, method: str) -> None:
    """Whatever it is called with."""
    before = served.room.paused
    assert client.send(method, "/api/pause").status == 405
    assert served.room.paused == before


@pytest.mark.usefixtures("no_collection")
@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b'{"name": "a.example"}', 200),
        (b"", 400),
        (b"{", 400),
        (b"[]", 400),
        (b'{"name": "a", "x": 1}', 400),
        (b"[" * 99_000, 400),
        (b"\xff", 400),
        (b'{"name": "' + b"x" * 99_000 + b'"}', 200),
        (b"[" + b"[]," * 40_000 + b"[]]", 413),  # parsing would hold the event loop
        (b'"' + b"x" * 5_000_000 + b'"', 413),
    ],
)
def test_wrong_bodies(client: Client, body: bytes, status: int) -> None:
    """One line of JSON that says what is wrong."""
    answer = client.send("POST", "/api/block", body)
    assert answer.status == status, answer
    if status != 200:
        assert set(answer.json) == {"error"}
        assert "\n" not in answer.json["error"]


def test_answers_are_json_for_every_browser(client: Client) -> None:
    """Which has no infinity."""
    answer = client.send("GET", "/api/stats")
    assert json.loads(answer.body, parse_constant=pytest.fail) == {"own": None, "list": [1.5, None]}


def test_errors_tell_no_secrets(client: Client, caplog: pytest.LogCaptureFixture) -> None:
    """An error of the program is in the log only."""
    assert client.send("GET", "/api/servers?x=1").json == {"error": "wrong: {'x': '1'}"}
    answer = client.send("GET", "/api/workers")
    assert answer.status == 500
    assert b"secret" not in answer.body
    assert "secret of the program" in caplog.text


def test_a_token_is_long_and_new() -> None:
    """The one set by hand counts instead."""
    assert len({Access(OPTIONS).token for _ in range(10)}) == 10
    assert len(Access(OPTIONS).token) >= 40
    by_hand = ConsoleOptions(6080, "10.0.0.1", "x" * 16, None)
    access = Access(by_hand)
    assert access.token == "x" * 16
    assert access.is_host("crawl.example:80")  # of a proxy
    assert access.is_host("192.168.1.5")
    assert not Access(OPTIONS).is_host("evil.example")


def test_the_ticket_is_for_its_owner_alone(tmp_path: Path) -> None:
    """Even where the file was there with other rights, or as a link."""
    options = ConsoleOptions(6080, "127.0.0.1", "", tmp_path)
    ticket = Ticket(options)
    victim = tmp_path / "victim"
    victim.write_text("mine")
    ticket.path.symlink_to(victim)
    assert ticket.write("http://127.0.0.1:6080/", "secret")
    assert stat.S_IMODE(ticket.path.stat().st_mode) == 0o600
    assert json.loads(ticket.path.read_text())["token"] == "secret"
    assert victim.read_text() == "mine"
    ticket.remove()
    assert not ticket.path.exists()
    ticket.remove()


def test_a_folder_of_somebody_else_is_not_used(tmp_path: Path) -> None:
    """Others could replace files in it."""
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(PermissionError):
        make_private(folder)
    make_private(tmp_path / "new")
    make_private(tmp_path / "new")


@pytest.mark.parametrize(
    ("path", "mode", "status"), [("/", "navigate", 200), ("/", "cors", 403), ("/api/state", "navigate", 403)]
)
def test_a_link_to_the_page_may_be_followed(client: Client, path: str, mode: str, status: int) -> None:
    """As from the console of another worker, which is another site to the browser; nothing else is answered so."""
    headers = {"Sec_Fetch_Site": "same-site", "Sec_Fetch_Mode": mode, "Sec_Fetch_Dest": "document"}
    assert client.send("GET", path, **headers).status == status
