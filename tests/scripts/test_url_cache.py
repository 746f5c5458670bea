"""The clairvoyant cache against all choices there are, the traces by hand, and known rates on the real graphs."""

import gzip
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from crawlproject.seen.cache import ClockCache
from scripts.url_cache import (
    LinkGraph,
    breadth_first,
    links_in_order,
    load_cnr,
    load_uic,
    lru_hits,
    main,
    measure,
    min_hits,
    next_uses,
)
from tests.data import real


def best_hits(trace: list[int], size: int) -> int:
    """Hits of the best of all ways to evict or not to keep."""

    @cache
    def best(time: int, held: frozenset[int]) -> int:
        if time == len(trace):
            return 0
        url = trace[time]
        if url in held:
            return 1 + best(time + 1, held)
        choices = [held]
        if len(held) < size:
            choices.append(held | {url})
        choices += [held - {other} | {url} for other in held]
        return max(best(time + 1, choice) for choice in choices)

    return best(0, frozenset())


@settings(deadline=None)
@given(st.lists(st.integers(0, 5), max_size=14), st.integers(1, 4))
def test_min_is_the_best_there_is(trace: list[int], size: int) -> None:
    """No way to use the cache has more hits."""
    assert min_hits(trace, size, next_uses(trace)) == best_hits(trace, size)


@st.composite
def traces(draw: st.DrawFn) -> np.ndarray:
    return np.array(draw(st.lists(st.integers(0, 20), min_size=1, max_size=200)))


@settings(deadline=None, max_examples=50)
@given(traces(), st.integers(1, 12))
def test_no_policy_beats_min_nor_min_infinite(trace: np.ndarray, size: int) -> None:
    """The order that theory asks for; what the paper preloads counts its first requests, too."""
    hits = measure([trace], size)
    assert max(hits[policy] for policy in ("LRU", "CLOCK", "RANDOM", "STATIC")) <= hits["MIN"] <= hits["INFINITE"]
    assert hits["INFINITE"] == len(trace) - len(set(trace.tolist()))
    assert hits["preloaded"] == hits["STATIC"] + min(size, len(set(trace.tolist())))


def write_graph(data: Path, pages: int) -> None:
    """A small web in the format of the uic graph: each page links to 0 and to three others."""
    graphs = data / "graphs"
    graphs.mkdir(parents=True)
    links = np.array([[0, *((page * 7 + step) % pages for step in (1, 2, 3))] for page in range(pages)])
    np.savez(
        graphs / "uic.graph.npz",
        indptr=np.arange(pages + 1) * 4,
        links=links.ravel(),
        alias=np.arange(pages),
        host=np.arange(pages) % 5,
    )
    urls = ["https://www.cs.uic.edu/", *(f"https://h/{page}" for page in range(1, pages))]
    (graphs / "uic.urls.txt.zst").write_bytes(zstandard.ZstdCompressor().compress("\n".join([*urls, ""]).encode()))
    (graphs / "uic.hosts.tsv").write_text("id\thost\n" + "".join(f"{host}\th{host}\n" for host in range(5)))


def test_script_on_a_small_web(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A table for each trace."""
    write_graph(tmp_path / "data", 40)
    arguments = ["--data", str(tmp_path / "data"), "--graphs", "uic", "--sizes", "4,16,64"]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert "uic, full: 160 links (100.0% of all), 40 URLs" in printed
    assert "uic, cross: " in printed
    assert "| 64 | 75.0 | 75.0 | 75.0 | 75.0 | 75.0 | 100.0 | 75.0 |" in printed


def test_script_on_links_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Pages in the order of the file, misses beside MIN's."""
    a, b = "http://a.example", "http://b.example"
    crawl = tmp_path / "links.tsv.gz"
    with gzip.open(crawl, "wt") as file:
        file.write(f"{a}/\t{a}/1\t{b}/\n{b}/\t{a}/1\t{a}/\n{a}/1\t{b}/\n")
    assert main([str(crawl), "--sizes", "1,2", "--processes", "2"]) == 0
    printed = capsys.readouterr().out
    assert "links.tsv.gz, full: 5 links (100.0% of all), 3 URLs" in printed
    assert "links.tsv.gz, cross: " in printed
    assert "| 1 | 20.0 | 0.0 |" in printed  # 1 /b | 1 / | /b: MIN keeps 1
    assert "| 1 | 1.00 | 1.25 |" in printed


@pytest.mark.parametrize("content", ["", "\n\n", "only-a-page\n"])
def test_script_without_links(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str) -> None:
    """One line says so."""
    (tmp_path / "links.tsv").write_text(content)
    assert main([str(tmp_path / "links.tsv")]) == 1
    assert main([str(tmp_path / "missing.tsv")]) == 1
    assert len(capsys.readouterr().err.splitlines()) == 2


class MarkedClock(ClockCache):
    """CLOCK with a mark on new keys, too, as the rates known for it were measured."""

    def add(self, key: int) -> bool:
        hit = super().add(key)
        self._marks[self._places[key]] = 1
        return hit


def full_trace(graph: LinkGraph) -> np.ndarray:
    return links_in_order(graph, breadth_first(graph))


@pytest.fixture
def graphs() -> Path:
    """The real graphs, which lie beside some checkouts."""
    return real("graphs")


@pytest.mark.long
def test_known_rates_on_uic(graphs: Path) -> None:
    """To 0.001, what others measured on the same links (README of the data)."""
    trace = full_trace(load_uic(graphs))
    known = {256: (0.773, 0.735, 0.680, 0.727), 4_096: (0.829, 0.789, 0.781, 0.788)}
    for size, expected in known.items():
        rates = {policy: hits / len(trace) for policy, hits in measure([trace], size).items()}
        marked = sum(map(MarkedClock(size).add, trace.tolist())) / len(trace)
        measured = (rates["MIN"], rates["LRU"], rates["RANDOM"], marked)
        assert measured == pytest.approx(expected, abs=0.001)
        assert rates["INFINITE"] == pytest.approx(0.856, abs=0.001)
        assert rates["CLOCK"] > rates["LRU"]  # new keys come without a mark


@pytest.mark.long
def test_known_rates_on_cnr(graphs: Path) -> None:
    """The same for the larger graph, which has 3.2 million links."""
    trace = full_trace(load_cnr(graphs)).tolist()
    for size, expected in {256: 0.787, 65_536: 0.883}.items():
        assert lru_hits(trace, size) / len(trace) == pytest.approx(expected, abs=0.001)
    assert 1 - len(set(trace)) / len(trace) == pytest.approx(0.899, abs=0.001)
