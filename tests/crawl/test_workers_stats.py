"""Stats of workers: each tells of itself while it runs; the last one sums them up."""

import math
from pathlib import Path

from testbed.redis_server import RunningRedis
from testbed.web import WebSpec, running_web
from tests.crawl.workers import redis_settings, workers

SPEC = WebSpec(servers=12, pages=120, seed=4, time_scale=0.1)


def test_the_last_worker_sums_the_stats(tmp_path: Path, redis_server: RunningRedis) -> None:
    """Requests and pages of all, also of one that left early; nothing of what says nothing as a sum."""
    client = redis_server.client()
    with running_web(SPEC) as web, workers(tmp_path, web, **redis_settings(redis_server.url)) as crew:
        web.limit(20)  # for each: the crawl does not end before the first has left
        crew.add()
        crew.add()
        crew.until(lambda: client.hlen("{web}:workers") == 2, "both had joined")
        crew.wait_for_pages(20)
        crew.interrupt(0)
        crew.until(lambda: "Received SIGINT" in crew.all[0].log(), "the signal arrived")
        web.limit(math.inf)
        crew.wait_all()
    first, last = (worker.stats() for worker in crew.all)
    assert not [name for name in first if name.startswith("workers/total/")]
    for name in ("downloader/request_count", "frontier/pages", "web/pages", "item_scraped_count"):
        assert last[f"workers/total/{name}"] == first.get(name, 0) + last.get(name, 0), name
    assert last["workers/total/web/pages"] >= SPEC.pages
    assert last["workers/pages"] == last["workers/total/frontier/pages"]
    assert not [name for name in last if name.startswith(("workers/total/monitor", "workers/total/workers"))]
    assert last["workers/lag"] >= 0
    for stats in (first, last):
        assert stats.get("workers/lost", 0) == 0  # the first may have left before its first round
    assert last["workers/partitions"] == 256
