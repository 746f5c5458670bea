"""The web in a process of its own, and the command line."""

import http.client
import math
import time
from pathlib import Path

from testbed.web import RunningWeb, build_web, politeness_violations, running_web
from testbed.web.analysis import PolitenessRule

from .browser import fast


def fetch_home(port: int, count: int, factor: float = 0.0) -> None:
    """Fetch the first server's home page `count` times on one connection, resting factor x the time taken."""
    connection = http.client.HTTPConnection("127.1.0.1", port, timeout=60)
    for _ in range(count):
        start = time.monotonic()
        connection.request("GET", "/")
        connection.getresponse().read()
        time.sleep(factor * (time.monotonic() - start))
    connection.close()


def paths(running: RunningWeb) -> list[str]:
    return [each.page for each in running.records() if each.kind == "request"]


def test_running_web_serves_and_logs(tmp_path: Path) -> None:
    """The child serves the same web as here; its log can be read while it runs and after it has ended."""
    with running_web(fast(), tmp_path / "log.tsv") as running:
        assert running.seeds == running.web.seeds() == build_web(fast()).at(running.port).seeds()
        fetch_home(running.port, 2)
        assert paths(running) == ["/", "/"]
    assert running.process.returncode == 0
    assert [each.kind for each in running.records()] == ["open", "request", "request", "close"]


def test_pages_beyond_the_limit_of_a_client_wait() -> None:
    """Until it rises; robots.txt, and pages for another address, do not."""
    with running_web(fast()) as running:
        running.limit(1)
        held = http.client.HTTPConnection("127.1.0.1", running.port, timeout=60)
        fetch_home(running.port, 1)
        held.request("GET", "/robots.txt")
        held.getresponse().read()
        held.request("GET", "/")
        other = http.client.HTTPConnection("127.1.0.1", running.port, timeout=60, source_address=("127.9.0.1", 0))
        other.request("GET", "/")
        assert other.getresponse().read()
        assert paths(running) == ["/", "", "/"]
        running.limit(math.inf)
        assert held.getresponse().read()
        fetch_home(running.port, 1)
        held.close()
        other.close()
    assert paths(running) == ["/", "", "/", "/", "/"]


def test_polite_client_is_not_accused() -> None:
    """Rests of 2 x the time that the client measures satisfy the server's log without tolerance, in both modes."""
    with running_web(fast()) as running:
        fetch_home(running.port, 5, factor=2.0)
        fetch_home(running.port, 1)
    records = [each for each in running.records() if each.kind == "request"]
    assert politeness_violations(records[:5], PolitenessRule("request", 2.0)) == []
    assert len(politeness_violations(records, PolitenessRule("request", 2000.0))) == 5
