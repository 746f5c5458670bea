"""A client of the console, as a script would be one; and what a page of another site would send."""

from __future__ import annotations

import http.client
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

#: Seconds to wait for a console that opens, or an answer, on a very busy machine.
TIMEOUT = 120.0


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Client:
    """``host`` as the console listens; headers given replace the right ones, None removes one."""

    def __init__(self, port: int, token: str, host: str = "127.0.0.1") -> None:
        self.port, self.token, self.host = port, token, host

    def send(self, method: str, path: str, body: bytes | None = None, **changed: str | None) -> Answer:
        headers: dict[str, str | None] = {
            "Host": f"{self.host}:{self.port}",
            "Authorization": f"Bearer {self.token}",
            "Content-Type": "application/json",
        }
        headers |= {name.replace("_", "-"): value for name, value in changed.items()}
        connection = http.client.HTTPConnection(self.host, self.port, timeout=TIMEOUT)
        try:
            connection.putrequest(method, path, skip_host=True)
            for name, value in headers.items():
                if value is not None:
                    connection.putheader(name, value)
            if body is not None:
                connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.getheaders()), answer.read())
        finally:
            connection.close()

    def get(self, path: str) -> Any:
        answer = self.send("GET", f"/api/{path}")
        assert answer.status == 200, answer
        return answer.json

    def post(self, path: str, **body: Any) -> Any:
        answer = self.send("POST", f"/api/{path}", json.dumps(body).encode())
        assert answer.status == 200, answer
        return answer.json


def client_of(ticket: Path) -> Client:
    """The client of the console whose address and token are in the file ``ticket``."""
    found = json.loads(ticket.read_text())
    host, _, port = found["url"].removeprefix("http://").rstrip("/").rpartition(":")
    return Client(int(port), found["token"], host)
