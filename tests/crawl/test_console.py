"""The control room of real crawls: every action, a restart, a port in use."""

import json
import socket
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any

import pytest

from testbed.children import free_port
from testbed.redis_server import RunningRedis
from testbed.web import WebSpec, running_web
from tests.crawl.crawling import crawling, read_results
from tests.crawl.differential import QUICK, run
from tests.crawl.scripted_site import Answer, Script, Site, page, scripted_site
from tests.crawl.workers import redis_settings, workers
from tests.monitor.console.client import TIMEOUT, Client, client_of
from tests.processes import Forked, run_python
from tests.waiting import until

SPIDER = "tests.crawl.ordinary_spiders.StartUrlsSpider"
HOSTILE = "<script>alert('title')</script>"


class Everywhere(dict[str, Any]):
    """Endless sites: two links on every page; servers 3 and 4 have none."""

    def get(self, place: str, default: Any = None) -> Answer:
        path = place.lstrip("0123456789")
        if path == "/robots.txt":
            return Answer("User-agent: *\nDisallow: /secret\n", headers={"Content-Type": "text/plain"})
        links = [] if place[0] in "34" else [f"{path}{digit}" for digit in (0, 1)]
        return Answer(page(*links, title=HOSTILE).body, headers={"Content-Type": "text/html"}, delay=0.01)


def open_console(process: Forked, job: Path, port: int) -> Client:
    """The client of a crawl that has just been started."""
    ticket = job / f"console-{port}.json"

    def found() -> Client | None:
        assert process.poll() is None, "the crawl has ended"
        try:
            ours = json.loads(ticket.read_text())["pid"] == process.pid
        except (OSError, ValueError):
            return None
        return client_of(ticket) if ours else None

    client: Client = until(found)
    return client


def is_open(client: Client) -> bool:
    """Whether the console answers: its crawl may be about to start."""
    try:
        return client.send("GET", "/api/log").status == 200
    except ConnectionRefusedError:
        return False


def settings_of(job: Path, port: int, **others: Any) -> dict[str, Any]:
    settings = {
        **QUICK,
        "JOBDIR": str(job),
        "FRONTIER_CONSOLE_PORT": port,
        "CLOSESPIDER_TIMEOUT": 250,
        "ROBOTSTXT_OBEY": True,
    }
    return settings | others


def test_orders_apply_and_survive_a_kill(tmp_path: Path) -> None:
    """Pause, seeds, block, sessions, delay; after kill -9 all of them are in force, until they are undone."""
    job, port = tmp_path / "job", free_port()
    with scripted_site(4) as site:
        site.script = Everywhere()
        sites, settings = ",".join(site.origins), settings_of(job, port)
        with crawling(SPIDER, tmp_path, settings=settings, sites=sites, start="1/,2/") as process:
            client = open_console(process, job, port)
            site.wait_for(20)
            one, two, three, four = site.origins
            _refusals(client)
            assert client.post("pause")["kept"]
            assert client.get("state")["figures"]["paused"]
            added = client.post("seeds", urls=[f"{three}/seed", f"{three}/seed", f"{four}/", "javascript:x"])
            assert {name: added[name] for name in ("new", "seen", "refused")} == {"new": 2, "seen": 1, "refused": 1}
            assert added["done"] == "4 seeds: 2 new, 1 seen, 1 refused (scheme 1)"
            assert client.post("seeds", urls=["x", 5, "", "http://", "http://a.example/" + "x" * 9000])["reasons"] == {
                "length": 1,
                "malformed": 4,
            }
            client.post("block", name=one)
            client.post("limit", name="sessions", value=2)
            commits = _commits(client)
            host_and_port = two.removeprefix("http://")  # what people type
            client.post("delay", name=host_and_port, seconds=0.5)
            assert client.get(f"server?key={host_and_port}")["delayed_by"] == host_and_port
            client.post("release", name="127.4.0.9")
            shown = client.get(f"server?key={one}")
            assert (shown["state"], shown["blocked_by"]) == ("blocked", one)
            assert shown["answers"]
            assert shown["robots"]["text"].startswith("User-agent")
            assert shown["best"][0]["url"].startswith(one)
            until(lambda: _commits(client) > commits)  # what the delay has changed, and the seeds before it
            process.kill()
            process.wait()
        before, known = len(site.asked), len(site.of(2))
        with crawling(SPIDER, tmp_path, settings=settings, sites=sites, start="1/,2/") as process:
            client = open_console(process, job, port)
            orders = until(lambda: _paused(client))
            assert orders["blocked"] == [one]
            assert orders["delays"] == {host_and_port: 0.5}
            assert orders["sessions"] == 2
            assert orders["released"] == ["127.4.0.9"]
            assert client.get("servers?state=blocked")["total"] == 1
            assert len(site.asked) == before, "a request of a paused crawl"
            client.post("resume")
            until(lambda: {"3/seed", "4/"} <= set(site.places()) and len(site.of(2)) > known + 4)
            assert not [one for one in site.asked[before:] if one.server == 1]
            assert _gap(site, before) >= 0.5
            client.post("unblock", name=one)
            until(lambda: any(one.server == 1 for one in site.asked[before:]))
            client.post("stop")
            assert process.wait(TIMEOUT) == 0
    stats = read_results(tmp_path, 0, "").stats
    assert stats["finish_reason"] == "stopped_by_operator"
    assert stats["monitor/session_limit"] == 2
    assert stats["frontier/sessions/max_open"] <= 2
    assert stats["console/actions"] == 3
    assert not list(job.glob("console-*.json")), "the token outlives the console"


def test_more_sessions_than_the_setting_after_a_restart(tmp_path: Path) -> None:
    """Each has its connection; else some would wait for one, at the end of the crawl for ever."""
    job, port = tmp_path / "job", free_port()
    orders = {"version": 1, "setting": 2, "given": {"sessions": "4"}}
    (job / "frontier").mkdir(parents=True)
    (job / "frontier" / "orders.json").write_text(json.dumps(orders))
    with scripted_site(6) as site:
        site.script = Everywhere()
        settings = settings_of(job, port, FRONTIER_MAX_SESSIONS=2, FRONTIER_MONITOR_INTERVAL=0.1)
        sites = ",".join(site.origins)
        with crawling(SPIDER, tmp_path, settings=settings, sites=sites, start="1/,2/,5/,6/") as process:
            client = open_console(process, job, port)
            until(lambda: client.get("stats").get("monitor/connections") == 4, process)
            client.post("stop")
            assert process.wait(TIMEOUT) == 0


def _refusals(client: Client) -> None:
    """Nothing that is wrong changes anything."""
    for path, body in (
        ("limit", {"name": "sessions", "value": 0}),
        ("delay", {"name": "a b", "seconds": 1}),
        ("delay", {"name": "a.example", "seconds": "x"}),
        ("block", {"name": 5}),
        ("block", {}),
        ("block", {"name": "a..example"}),
        ("block", {"name": "http://*.example"}),
        ("seeds", {"urls": []}),
        ("seeds", {"urls": "http://a.example/"}),
    ):
        assert client.send("POST", f"/api/{path}", json.dumps(body).encode()).status == 400, path
    assert client.get("state")["orders"]["blocked"] == []
    assert client.send("GET", "/api/server?key=http://unknown.example").status == 404


def _paused(client: Client) -> dict[str, Any] | None:
    orders: dict[str, Any] = client.get("state")["orders"]
    return orders if orders["paused"] else None


def _commits(client: Client) -> int:
    return int(client.get("stats").get("frontier/commits", 0))


def _gap(site: Site, since: int) -> float:
    """The shortest wait of server 2 after ``since`` requests."""
    asked = [one for one in site.asked[since:] if one.server == 2]
    return min(after.started - before.ended for before, after in pairwise(asked))


def test_patterns_and_limits_apply_at_once(tmp_path: Path) -> None:
    """URLs that are queued, and those found later, while requests are handed out; limits end the crawl. Both survive
    a kill."""
    job, port = tmp_path / "job", free_port()
    settings = settings_of(job, port, ROBOTSTXT_OBEY=False, FRONTIER_MAX_SESSIONS=2)
    with scripted_site(2) as site:
        site.script = Everywhere()
        sites = ",".join(site.origins)
        with crawling(SPIDER, tmp_path, settings=settings, sites=sites, start="1/,2/") as process:
            client = open_console(process, job, port)
            site.wait_for(10)
            _wrong_changes(client)
            assert (
                client.post("pattern", kind="exclude", pattern="/*01", on=True)["done"] == "nothing is fetched of /*01"
            )
            until(lambda: client.get("urls?search=/*01&state=queued&count=1")["count"] == 0)
            asked = len(site.asked)
            client.post("pattern", kind="raise", pattern="/*11$", on=True)
            client.post("limit", name="depth", value=12)
            site.wait_for(asked + 60)
            assert [one.place for one in site.asked[asked + 4 :] if "01" in one.place] == []
            lost = until(lambda: client.get("urls?reason=excluded&limit=5")["rows"])
            assert all("01" in row["url"] and row["state"] == "lost" for row in lost)
            one = client.get(f"url?url={lost[0]['url']}")
            assert (one["state"], one["stage"]) == ("lost", "request")  # a request of the spider fails
            assert one["history"]
            fetched = until(lambda: client.get("urls?state=fetched&status=200&limit=1")["rows"])[0]["url"]
            path = fetched.removeprefix(site.origins[0]).removeprefix(site.origins[1])
            before = sum(each.place.endswith(path) for each in site.asked)
            client.post("fetch", url=fetched)
            until(lambda: sum(each.place.endswith(path) for each in site.asked) > before)
            process.kill()
            process.wait()
        asked = len(site.asked)
        with crawling(SPIDER, tmp_path, settings=settings, sites=sites, start="1/,2/") as process:
            client = open_console(process, job, port)
            limits = until(lambda: {each["name"]: each["override"] for each in client.get("state")["orders"]["limits"]})
            assert limits["depth"] == 12
            assert client.get("state")["orders"]["patterns"] == [
                {"kind": "exclude", "pattern": "/*01"},
                {"kind": "raise", "pattern": "/*11$"},
            ]
            site.wait_for(asked + 20)
            assert [one.place for one in site.asked[asked:] if "01" in one.place] == []
            client.post("limit", name="time", value=1)
            assert process.wait(TIMEOUT) == 0
    assert read_results(tmp_path, 0, "").stats["finish_reason"] == "closespider_timeout"


def _wrong_changes(client: Client) -> None:
    """Nothing that is wrong changes anything."""
    for path, body in (
        *(
            ("pattern", {"kind": "exclude", "pattern": pattern, "on": True})
            for pattern in ("", "*", "**", "/", "/*", "http", "*/*", "re:", "re:.", "re:^h")
        ),
        ("pattern", {"kind": "exclude", "pattern": "re:(", "on": True}),
        ("pattern", {"kind": "dance", "pattern": "x", "on": True}),
        ("pattern", {"kind": "exclude", "pattern": "x", "on": 1}),
        ("pattern", {"kind": "exclude", "pattern": "x" * 5_000, "on": True}),
        ("limit", {"name": "speed", "value": 1}),
        ("limit", {"name": "pages", "value": -1}),
        ("limit", {"name": "pages", "value": True}),
        ("limit", {"name": "pages", "value": 1e3}),
        ("fetch", {"url": "javascript:x"}),
        ("fetch", {"url": "http://a.example/" + "x" * 9_000}),
    ):
        assert client.send("POST", f"/api/{path}", json.dumps(body).encode()).status == 400, body
    for query in (
        "urls?state=x",
        "urls?reason=x",
        "urls?status=1e3",
        "urls?next=zz",
        "urls?x=1",
        "url?url=x",
        "urls?host=*",
    ):
        assert client.send("GET", f"/api/{query}").status == 400, query
    assert client.get("state")["orders"]["patterns"] == []


def test_a_port_in_use_is_one_error(tmp_path: Path) -> None:
    """The crawl goes on, and a second console is none."""
    with socket.create_server(("127.2.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        settings = {**QUICK, "FRONTIER_CONSOLE_HOST": "127.2.0.1", "FRONTIER_CONSOLE_PORT": port}
        ours = run("StartUrlsSpider", {"/": page()}, settings=settings)
    assert ours.reason == "finished"
    assert len(ours.items()) == 1
    assert f"FRONTIER_CONSOLE_PORT={port}" in ours.crawl.log
    assert ours.crawl.log.count("No console") == 1


def test_a_blocked_server_does_not_keep_a_crawl_alive(tmp_path: Path) -> None:
    """Its URLs wait for a run in which it is not blocked; without a port orders apply, and a pause does not."""
    job, port = tmp_path / "job", free_port()
    script: Script = {"1/": page("/a", "/b"), "1/a": page(), "1/b": page(), "2/": Answer(page().body, delay=30)}
    with scripted_site(2) as site:
        site.script = script
        sites, settings = ",".join(site.origins), settings_of(job, port, ROBOTSTXT_OBEY=False)
        with crawling(SPIDER, tmp_path, settings=settings, sites=sites, start="2/") as process:
            client = open_console(process, job, port)
            site.wait_for(1)
            client.post("block", name=site.origins[0])
            assert client.post("seeds", urls=[f"{site.origins[0]}/"])["new"] == 1
            client.post("pause")
            process.send_signal(2)
            site.stopping.set()
            process.wait(TIMEOUT)
        assert site.places(1) == []
        again = settings | {"FRONTIER_CONSOLE_PORT": 0}
        with crawling(SPIDER, tmp_path, settings=again, sites=sites, start="2/") as process:
            assert process.wait(TIMEOUT) == 0
        assert site.places(1) == []
        assert read_results(tmp_path, 0, "").stats["finish_reason"] == "finished"
        (job / "frontier" / "orders.json").unlink()
        with crawling(SPIDER, tmp_path, settings=again, sites=sites, start="2/") as process:
            assert process.wait(TIMEOUT) == 0
    assert sorted(site.places(1)) == ["1/", "1/a", "1/b"]


@pytest.mark.parametrize("backend", ["disk", "redis"])
def test_seeds_that_are_kept_survive_a_kill(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """From the moment of the answer on.

    Many are written to disk in several steps, between which the crawl continues.
    """
    job, port = tmp_path / "job", free_port()
    settings = settings_of(job, port, ROBOTSTXT_OBEY=False, FRONTIER_MAX_SESSIONS=1, FRONTIER_BACKEND=backend)
    if backend == "redis":
        settings |= redis_settings(request.getfixturevalue("redis_server").url, FRONTIER_LEASE=2)
    else:
        settings["FRONTIER_COMMIT_INTERVAL"] = 600
    with scripted_site(2) as site:
        site.script = {"1/": Answer(page().body, delay=600), "2/seed": page()}
        sites = ",".join(site.origins)
        with crawling(SPIDER, tmp_path, settings=settings, sites=sites, start="1/") as process:
            client = open_console(process, job, port)
            site.wait_for(1)
            commits = _commits(client)
            many = 400 if backend == "disk" else 0
            others = [f"http://127.4.9.9:1/{number}" for number in range(many)]  # nothing listens there
            added = client.post("seeds", urls=[f"{site.origins[1]}/seed", *others])
            assert (added["new"], added["kept"]) == (1 + many, True)
            assert _commits(client) - commits == (3 if backend == "disk" else 0)
            process.kill()
        again = settings | {"FRONTIER_CONSOLE_PORT": 0, "FRONTIER_MAX_SESSIONS": 2}
        with crawling(SPIDER, tmp_path, settings=again, sites=sites, start="1/") as process:
            until(lambda: "2/seed" in site.places(2))


def test_scrapy_console(tmp_path: Path) -> None:
    """By JOBDIR; by URL and token; with wrong arguments, and where nothing listens."""
    job, port = tmp_path / "job", free_port()
    with scripted_site(1) as site:
        site.script = Everywhere()
        settings = settings_of(job, port)
        with crawling(SPIDER, tmp_path, settings=settings, sites=site.origins[0]) as process:
            client = open_console(process, job, port)

            def console(*arguments: str) -> tuple[int, str, str]:
                done = run_python("-m", "scrapy", "console", *arguments, timeout=TIMEOUT)
                return done.returncode, done.stdout, done.stderr

            def done(*arguments: str) -> Any:
                return json.loads(console(link, *arguments)[1])

            link = f"http://127.0.0.1:{port}/#token={client.token}"
            assert json.loads(console(str(job), "status")[1])["crawl"]["job"] == str(job)
            assert done("servers", "--limit", "1")["total"] == 1
            assert done("server", site.origins[0])["server"] == site.origins[0]
            assert done("delay", "a.example", "5")["seconds"] == 5
            assert done("urls", "--state", "queued", "--limit", "1")["count"] <= 1
            assert done("url", site.origins[0])["server"] == site.origins[0]
            assert done("limit", "depth", "7")["done"] == "Links from a seed, at most: 7"
            assert done("limit", "depth", "-")["done"].endswith("as the settings say")
            assert done("undo", "lower", "/x*")["done"] == "/x* is not fetched last"
            seeds = [f"{site.origins[0]}/{number}?{'x' * 100}" for number in range(1_000)]
            answers = console(link, "seeds", *seeds)[1].split("\n}\n")  # more than one request takes
            counts = [json.loads(f"{answer}}}") for answer in answers if answer]
            assert (len(counts), sum(each["new"] for each in counts)) == (2, 1_000)
            wrong = "scrapy console: value: must be a whole number from 1 to 10000\n"
            assert console(link, "limit", "sessions", "0")[::2] == (1, wrong)
            assert console(link, "delay", "a.example")[0] == 2
            assert "token" in console(f"http://127.0.0.1:{port}/", "status")[2]
            assert json.loads(console(str(job), "stop")[1])["done"] == "the crawl ends"
            assert process.wait(TIMEOUT) == 0
        assert console(str(job), "status")[::2] == (1, f"scrapy console: {job}: no console is open there\n")
        assert "refused" in console(link, "status")[2]


@pytest.mark.long
def test_an_action_reaches_all_workers(tmp_path: Path, redis_server: RunningRedis) -> None:
    """At whichever console it is given, also one that joins later; a page tells how many have applied it. Without Redis
    an action is refused, and the rest answers."""
    token, ports = "t" * 20, [free_port() for _ in range(3)]
    slow = {"FRONTIER_MIN_DELAY": 0.5, "FRONTIER_MAX_DELAY": 0.5}
    settings = redis_settings(redis_server.url, FRONTIER_CONSOLE_TOKEN=token, FRONTIER_LEASE=60, **slow)
    spec = WebSpec(servers=20, pages=4_000, time_scale=0.05)
    with running_web(spec) as web, workers(tmp_path, web, **settings) as crew:
        web.limit(1_000)  # for each worker: the crawl does not end
        clients = [Client(port, token) for port in ports]
        for port in ports[:2]:
            crew.add(FRONTIER_CONSOLE_PORT=port)
        crew.wait_for_pages(10)
        first, second, third = clients

        def applied(number: int, workers: int) -> bool:
            found = first.get("workers")["actions"]
            return bool(found) and (found[0]["number"], found[0]["applied"]) == (number, workers)

        until(lambda: is_open(first) and is_open(second) and len(first.get("workers")["workers"]) == 2)
        answer = second.post("block", name="blocked.example")
        assert (answer["kept"], answer["number"]) == (True, 1)
        until(lambda: applied(1, 2))
        assert first.get("state")["orders"]["blocked"] == ["blocked.example"]
        assert first.get("workers")["actions"][0]["what"] == "blocked.example is blocked"
        first.post("unblock", name="blocked.example")
        second.post("limit", name="sessions", value=3)
        first.post("delay", name="a.example", seconds=30)
        first.post("pause")
        crew.add(FRONTIER_CONSOLE_PORT=ports[2])
        until(lambda: is_open(third) and applied(5, 3))
        for client in clients:
            orders = client.get("state")["orders"]
            names = ("paused", "sessions", "delays", "blocked")
            assert [orders[name] for name in names] == [True, 3, {"a.example": 30}, []]
        third.post("resume")
        until(lambda: applied(6, 3))
        redis_server.kill()
        assert until(lambda: first.get("workers").get("error"))
        refused = first.send("POST", "/api/pause", b"{}")
        assert refused.status == 503
        assert refused.json["error"].startswith("refused, Redis does not answer (repeat it when it does): cannot be")
        assert first.get("state")["orders"]["paused"] is False


@pytest.mark.long
def test_a_limit_of_pages_holds_for_the_whole_crawl(tmp_path: Path, redis_server: RunningRedis) -> None:
    """Raised at one worker and lowered at another, all of them obey it: together they fetch about as many pages. So
    does a pattern that is deleted while all of them hand out."""
    token, ports = "t" * 20, [free_port() for _ in range(3)]
    settings = redis_settings(redis_server.url, FRONTIER_CONSOLE_TOKEN=token, FRONTIER_MAX_PAGES=150)
    spec = WebSpec(servers=30, pages=20_000, time_scale=0.2)
    with running_web(spec) as web, workers(tmp_path, web, **settings) as crew:
        web.limit(30)
        for port in ports:
            crew.add(FRONTIER_CONSOLE_PORT=port)
        one, other, third = (Client(port, token) for port in ports)
        until(lambda: all(map(is_open, (one, other, third))))
        other.post("limit", name="pages", value=100_000)
        until(lambda: [each["applied"] for each in one.get("workers")["actions"]] == [3])
        web.limit(inf)
        until(lambda: one.get("workers")["pages"] >= 200)  # more than the setting allows
        third.post("pattern", kind="exclude", pattern="/*7.html", on=True)
        third.post("limit", name="pages", value=1_500)
        until(lambda: [each["applied"] for each in one.get("workers")["actions"]] == [3] * 3)
        begin = len(crew.records())
        until(lambda: (one.get("state")["whole"] or {}).get("progress", {}).get("of") == 1_500)
        crew.wait_all()
        fetched = crew.stats("frontier/pages")
        later = [each.target for each in crew.records()[begin + 200 :] if each.kind == "request"]
        assert later
        assert not [path for path in later if path.endswith("7.html")], "of a pattern that was deleted"
        assert {each.stats()["finish_reason"] for each in crew.all} == {"closespider_pagecount"}
    assert 1_500 <= fetched < 3_000, "each worker took it for its own"
