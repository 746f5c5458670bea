"""The control room of real crawls: every action, a restart, a port in use."""

import json
import socket
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from testbed.children import free_port
from testbed.redis_server import RunningRedis
from testbed.web import Record, WebSpec, running_web
from tests.crawl.crawling import crawling, read_results
from tests.crawl.differential import QUICK, run
from tests.crawl.scripted_site import Answer, Script, Site, page, scripted_site
from tests.crawl.workers import Workers, redis_settings, workers
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


@pytest.mark.parametrize("backend", ["memory", "disk"])
def test_patterns_and_limits_apply_at_once(backend: str, tmp_path: Path) -> None:
    """URLs that are queued, and those found later, while requests are handed out; limits end the crawl. On disk both
    survive a kill."""
    job, port = tmp_path / "job", free_port()
    settings = settings_of(job, port, ROBOTSTXT_OBEY=False, FRONTIER_BACKEND=backend, FRONTIER_MAX_SESSIONS=2)
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
            if backend == "disk":
                process.kill()
                process.wait()
            else:
                client.post("limit", name="pages", value=1)
                assert process.wait(TIMEOUT) == 0
        if backend == "memory":
            assert read_results(tmp_path, 0, "").stats["finish_reason"] == "closespider_pagecount"
            return
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


@pytest.mark.parametrize("backend", ["memory", "disk", "redis"])
def test_seeds_that_are_kept_survive_a_kill(backend: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """From the moment of the answer on; in memory they are not, and the answer says so.

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
            assert (added["new"], added["kept"]) == (1 + many, backend != "memory")
            assert _commits(client) - commits == (3 if backend == "disk" else 0)
            process.kill()
        if backend == "memory":
            return
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

            code, out, _ = console(str(job), "status")
            assert code == 0
            assert json.loads(out)["crawl"] == {
                **json.loads(out)["crawl"],
                **{"name": "job", "spider": "start_urls", "job": str(job)},
            }
            link = f"http://127.0.0.1:{port}/#token={client.token}"
            assert json.loads(console(link, "servers", "--limit", "1")[1])["total"] == 1
            assert json.loads(console(link, "server", site.origins[0])[1])["server"] == site.origins[0]
            assert json.loads(console(link, "delay", "a.example", "5")[1])["seconds"] == 5
            assert json.loads(console(link, "urls", "--state", "queued", "--limit", "1")[1])["count"] <= 1
            assert json.loads(console(link, "url", site.origins[0])[1])["server"] == site.origins[0]
            assert json.loads(console(link, "limit", "depth", "7")[1])["done"] == "Links from a seed, at most: 7"
            assert json.loads(console(link, "limit", "depth", "-")[1])["done"].endswith("as the settings say")
            assert json.loads(console(link, "lower", "/x*")[1])["done"] == "/x* is fetched last"
            assert json.loads(console(link, "undo", "lower", "/x*")[1])["done"] == "/x* is not fetched last"
            assert console(link, "exclude", "*")[0] == 1
            seeds = [f"{site.origins[0]}/{number}?{'x' * 100}" for number in range(1_000)]
            answers = console(link, "seeds", *seeds)[1].split("\n}\n")  # more than one request takes
            counts = [json.loads(f"{answer}}}") for answer in answers if answer]
            assert (len(counts), sum(each["new"] for each in counts)) == (2, 1_000)
            assert console(link, "limit", "sessions", "0")[::2] == (
                1,
                "scrapy console: value: must be a whole number from 1 to 10000\n",
            )
            assert console(link, "delay", "a.example")[0] == 2
            assert console(link, "dance")[0] == 2
            assert "token" in console(f"http://127.0.0.1:{port}/", "status")[2]
            assert json.loads(console(str(job), "stop")[1])["done"] == "the crawl ends"
            assert process.wait(TIMEOUT) == 0
        assert console(str(job), "status")[::2] == (1, f"scrapy console: {job}: no console is open there\n")
        assert "refused" in console(link, "status")[2]
        (job / "console-1.json").mkdir()
        problem = f"{job}/console-1.json: Is a directory"
        assert console(str(job), "status")[::2] == (1, f"scrapy console: {problem}\n")


@pytest.mark.long
def test_an_action_reaches_all_workers(tmp_path: Path, redis_server: RunningRedis) -> None:
    """At whichever console it is given, also one that joins later; a page tells how many have applied it. One that
    leaves is gone from the table. Without Redis an action is refused, and the rest answers."""
    token, ports = "t" * 20, [free_port() for _ in range(3)]
    slow = {"FRONTIER_MIN_DELAY": 0.5, "FRONTIER_MAX_DELAY": 0.5}
    settings = redis_settings(redis_server.url, FRONTIER_CONSOLE_TOKEN=token, FRONTIER_LEASE=60, **slow)
    spec = WebSpec(servers=20, pages=4_000, time_scale=0.05)
    with running_web(spec) as web, workers(tmp_path, web, **settings) as crew:

        def add(number: int) -> None:
            crew.add(FRONTIER_CONSOLE_PORT=ports[number], JOBDIR=tmp_path / "job" / f"worker-{number + 1}")

        web.limit(1_000)  # for each worker: the crawl does not end
        add(0)
        add(1)
        crew.wait_for_pages(10)
        clients = [Client(port, token) for port in ports]

        def seen(*numbers: int) -> list[dict[str, Any]] | None:
            if not all(is_open(clients[number]) for number in numbers):
                return None
            found = [clients[number].get("workers") for number in numbers]
            return found if [len(each["workers"]) for each in found] == [len(numbers)] * len(numbers) else None

        def applied(number: int, workers: int) -> bool:
            found = clients[0].get("workers")["actions"]
            return bool(found) and (found[0]["number"], found[0]["applied"]) == (number, workers)

        first, second = until(lambda: seen(0, 1))
        pids = {worker["worker"]: worker["pid"] for worker in first["workers"]}
        assert pids == {worker["worker"]: worker["pid"] for worker in second["workers"]}
        assert [pids[each["own"]] for each in (first, second)] == [worker.process.pid for worker in crew.all]
        until(lambda: clients[0].get("workers")["pages"] >= 10)
        until(lambda: clients[1].get("servers")["rows"])
        answer = clients[1].post("block", name="blocked.example")
        assert (answer["kept"], answer["number"]) == (True, 1)
        assert clients[1].get("state")["orders"]["blocked"] == ["blocked.example"]
        until(lambda: applied(1, 2))
        assert clients[0].get("state")["orders"]["blocked"] == ["blocked.example"]
        assert clients[0].get("workers")["actions"][0]["what"] == "blocked.example is blocked"
        clients[0].post("unblock", name="blocked.example")

        def console(*arguments: str) -> Any:
            done = run_python("-m", "scrapy", "console", str(tmp_path / "job"), *arguments, timeout=TIMEOUT)
            assert done.returncode == 0, done.stderr
            return json.loads(done.stdout)

        assert list(console("pause")) == ["worker-1"]
        clients[1].post("limit", name="sessions", value=3)
        clients[0].post("delay", name="a.example", seconds=30)
        assert list(console("status")) == ["worker-1", "worker-2"]
        until(lambda: applied(5, 2))

        def shown() -> Any:
            """What is told of a server of the second; it may be handed over in between."""
            rows = clients[1].get("servers")["rows"]
            job = ("console", str(tmp_path / "job"), "server", rows[0]["server"] if rows else "")
            return run_python("-m", "scrapy", *job, timeout=TIMEOUT).stdout

        until(lambda: list(json.loads(shown() or "{}")) == ["worker-2"])
        add(2)
        until(lambda: seen(0, 1, 2))
        until(lambda: applied(5, 3))
        for client in clients:
            orders = client.get("state")["orders"]
            names = ("paused", "sessions", "delays", "blocked")
            assert [orders[name] for name in names] == [True, 3, {"a.example": 30}, []]
        assert clients[2].get("state")["figures"]["pages"] == 0, "a page was fetched in a pause"
        assert len(console("seeds", "https://a.example/")) == 1
        wrong = run_python("-m", "scrapy", "console", str(tmp_path / "job"), "limit", "sessions", "0", timeout=TIMEOUT)
        assert wrong.stderr == "scrapy console: worker-1: value: must be a whole number from 1 to 10000\n"
        clients[2].post("resume")
        web.limit(1_100)  # what the first two have in progress ends, so that they hand servers over
        until(lambda: applied(6, 3))
        assert not any(client.get("state")["orders"]["paused"] for client in clients)
        until(lambda: clients[2].get("state")["figures"]["pages"] > 0)
        web.limit(1_200)  # what they have in progress ends
        for number in (1, 2):
            crew.interrupt(number)
        assert until(lambda: seen(0))[0]["own"] == first["own"]
        redis_server.kill()
        assert until(lambda: clients[0].get("workers").get("error"))
        assert clients[0].get("state")["figures"]["pages"] > 0
        refused = clients[0].send("POST", "/api/pause", b"{}")
        assert refused.status == 503
        assert refused.json["error"].startswith("refused, Redis does not answer (repeat it when it does): cannot be")
        assert clients[0].get("state")["orders"]["paused"] is False


@pytest.mark.long
def test_orders_survive_the_hand_over(tmp_path: Path, redis_program: Path) -> None:
    """A server that is blocked, and one that is delayed, go to another worker when theirs is killed, and Redis starts
    again meanwhile: the first gets no request until it is unblocked; requests to the second keep their distance."""
    token, ports = "t" * 20, [free_port() for _ in range(2)]
    spec = WebSpec(servers=20, pages=8_000, time_scale=0.05)
    with RunningRedis(program=redis_program, aof=True) as redis, running_web(spec) as web:
        settings = redis_settings(redis.url, FRONTIER_CONSOLE_TOKEN=token, FRONTIER_LEASE=2, FRONTIER_PARTITIONS=16)
        with workers(tmp_path, web, FRONTIER_MIN_DELAY=0.2, FRONTIER_MAX_DELAY=0.5, **settings) as crew:
            for port in ports:
                crew.add(FRONTIER_CONSOLE_PORT=port)
            crew.wait_for_pages(50)
            one, other = (Client(port, token) for port in ports)

            def crawled() -> list[str]:
                if not is_open(other):
                    return []
                rows = other.get("servers?state=with%20URLs&sort=pages&limit=200")["rows"]
                return [row["server"] for row in rows if row["fetched"] > 1]

            blocked, delayed = until(lambda: len(crawled()) >= 2 and crawled()[:2])
            one.post("block", name=blocked)
            one.post("delay", name=delayed, seconds=4)
            until(lambda: one.get("workers")["actions"][0]["applied"] == 2)
            begin = len(crew.records())
            until(lambda: len(_asked(crew, delayed, begin)) >= 2)  # what was under way has ended
            begin = len(crew.records())
            crew.kill(1)
            redis.restart()
            until(lambda: one.send("GET", f"/api/server?key={blocked}").status == 200)
            assert one.get(f"server?key={blocked}")["state"] == "blocked"
            until(lambda: len(_asked(crew, delayed, begin)) >= 3)
            assert _asked(crew, blocked, begin) == []
            records = [*_asked(crew, delayed, 0, begin)[-1:], *_asked(crew, delayed, begin)]
            assert min(after.arrival - before.end for before, after in pairwise(records)) >= 4
            one.post("unblock", name=blocked)
            until(lambda: _asked(crew, blocked, begin))


def _asked(crew: Workers, key: str, since: int, end: int | None = None) -> list[Record]:
    host = urlsplit(key).hostname
    return [each for each in crew.records()[since:end] if each.kind == "request" and each.server == host]


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
