"""Records of the emulated web's log, made by hand."""

from testbed.web import Record

#: Addresses of two clients.
A, B = "127.9.0.1", "127.9.0.2"


def opened(server: str, connection: int, time: float, client: str = A) -> Record:
    return Record("open", server, connection, 0, time, time, 0, 0, f"{client}:40000", "", "")


def closed(server: str, connection: int, time: float) -> Record:
    return Record("close", server, connection, 1, time, time, 0, 0, "", "", "client")


def fetch(server: str, connection: int, arrival: float, end: float, page: str = "/") -> Record:
    return Record("request", server, connection, 1, arrival, end, 200, 100, page, page, "")
