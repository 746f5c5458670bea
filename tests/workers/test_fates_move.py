"""What became of URLs goes with a partition to another worker."""

from pathlib import Path

import pytest

from crawlproject.frontier import BestPrefix, Entry, Frontier
from crawlproject.storage.directory import StoreLabel
from crawlproject.urls.fates import Reason, Stage
from crawlproject.urls.url_rows import End, UrlQuery
from crawlproject.workers.local import LocalCopy
from crawlproject.workers.partitions import Partitions

KEY = "http://www.a.com"
ENDS = (
    ("/missing", End(50, Stage.ANSWER, Reason.NOT_FOUND, 404, 1)),
    ("/page", End(60, Stage.ANSWER, Reason.FETCHED, 200, 1)),
    ("/late", End(70, Stage.REQUEST, Reason.TIMEOUT)),
    ("/late", End(80, Stage.ANSWER, Reason.FETCHED, 200)),
)


def copy(folder: Path, partitions: Partitions) -> LocalCopy:
    label = StoreLabel("web", "quality")
    return LocalCopy(Frontier(BestPrefix()), partitions, folder, label, lambda: 0.0, indexed=False)


@pytest.mark.parametrize("by_snapshot", [True, False])
def test_ended_urls_are_found_at_the_next_worker(tmp_path: Path, *, by_snapshot: bool) -> None:
    """With reason and time, also one that was lost at first, and fetched later."""
    partitions = Partitions(4)
    partition = partitions.of(KEY)
    one, other = copy(tmp_path / "one", partitions), copy(tmp_path / "other", partitions)
    for _ in one.restore(partition, {}):
        pass
    one.frontier.push([Entry(f"{KEY}/queued")])
    for path, end in ENDS:
        one.servers.ended(KEY + path, end)
    changes = one.commit()
    if by_snapshot:
        for table, key, value in one.scan(partition):
            other.write({table: [(key, value)]})
    else:
        other.write({table: list(rows.items()) for table, rows in changes[partition].items()})
    for _ in other.restore(partition, {}):
        pass
    found = {row.url: row for _, _, rows in other.servers.urls().rows(UrlQuery()) for row in rows}
    assert {url: row.state for url, row in found.items()} == {
        f"{KEY}/queued": "queued",
        f"{KEY}/missing": "lost",
        f"{KEY}/page": "fetched",
        f"{KEY}/late": "fetched",
    }
    missing = found[f"{KEY}/missing"]
    assert (missing.reason, missing.status, missing.at, missing.depth) == ("not_found", 404, 50, 1)
    assert [row.reason for row in other.servers.urls().history(f"{KEY}/late")] == ["fetched", "timeout"]
    one.close()
    other.close()
