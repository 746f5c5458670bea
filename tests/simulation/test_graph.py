"""Real link graphs from files, and the webs on them."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawlproject.simulation.graph import GraphSpec, LinkGraph, build, load
from crawlproject.simulation.pagerank import pagerank
from crawlproject.simulation.web import compressed, sources_of
from tests.data import real

# Four pages on two servers: 0 -> 1, 2; 1 -> 0, 3; page 3 -> 2; URL 4 is page 2 under another name, URL 5 leads nowhere.
ARRAYS = {
    "indptr": np.array([0, 3, 6, 6, 7], dtype=np.int32),
    "links": np.array([1, 4, 5, 0, 3, 3, 2], dtype=np.int32),
    "alias": np.array([0, 1, 2, 3, 2, -1], dtype=np.int32),
    "host": np.array([7, 7, 9, 7, 9, 1], dtype=np.int32),
    "size": np.array([10, 20, 30, 40], dtype=np.int32),
}


def save(path: Path, **arrays: np.ndarray) -> Path:
    np.savez(path, **arrays)
    return path


def links_of(graph: LinkGraph) -> list[list[int]]:
    return [graph.targets[graph.indptr[page] : graph.indptr[page + 1]].tolist() for page in range(graph.pages)]


def graph_of(links: list[list[int]], server: list[int]) -> LinkGraph:
    sources = np.repeat(np.arange(len(links)), [len(found) for found in links])
    targets = np.array([link for found in links for link in found], dtype=np.int64)
    return LinkGraph(*compressed(sources, targets, len(links)), np.array(server))


graphs = st.integers(1, 12).flatmap(
    lambda count: st.builds(
        graph_of,
        st.lists(st.lists(st.integers(0, count - 1), max_size=4), min_size=count, max_size=count),
        # a server each at first, so that their numbers have no gap
        st.lists(st.integers(0, 3), min_size=count, max_size=count).map(
            lambda servers: np.unique(servers, return_inverse=True)[1].tolist()
        ),
    )
)


def test_links_are_those_of_the_pages_behind_the_urls(tmp_path: Path) -> None:
    """Aliases are resolved, links out of the graph vanish, servers are numbered without gaps."""
    graph = load(save(tmp_path / "graph.npz", **ARRAYS))
    assert links_of(graph) == [[1, 2], [0, 3], [], [2]]
    assert graph.server.tolist() == [0, 0, 1, 0]
    assert graph.size.tolist() == [10, 20, 30, 40]
    assert (graph.pages, graph.servers) == (4, 2)


@pytest.mark.parametrize("name", ["links", "indices", "targets"])
def test_graphs_of_page_numbers(tmp_path: Path, name: str) -> None:
    """Without aliases links are pages; numbers above theirs lead nowhere; sizes may be missing."""
    arrays = {"indptr": ARRAYS["indptr"], name: ARRAYS["links"], "server": ARRAYS["host"][:4]}
    graph = load(save(tmp_path / "graph.npz", **arrays))
    assert links_of(graph) == [[1], [0, 3], [], [2]]
    assert graph.size is None


def test_lines_of_urls(tmp_path: Path) -> None:
    """Pages are the URLs with a line; servers are scheme, host and port."""
    (tmp_path / "links.tsv").write_text(
        "http://a.example/\thttp://a.example:8080/\thttp://b.example/nowhere\thttps://a.example/\n"
        "http://a.example:8080/\thttp://a.example/\n"
        "https://a.example/\n"
        "http://a.example/2\thttp://a.example/\n"
    )
    graph = load(tmp_path / "links.tsv")
    assert links_of(graph) == [[1, 2], [0], [], [0]]
    assert graph.server.tolist() == [0, 1, 2, 0]
    assert graph.urls[3] == "http://a.example/2"


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"indptr": ARRAYS["indptr"], "links": ARRAYS["links"]}, "no array host or server"),
        ({"indptr": ARRAYS["indptr"], "host": ARRAYS["host"]}, "no array links or indices or targets"),
        (ARRAYS | {"indptr": np.array([0, 3, 2, 6, 7])}, "indptr must rise"),
        (ARRAYS | {"indptr": np.array([0, 3, 6, 6, 8])}, "indptr must rise"),
        (ARRAYS | {"host": np.array([1, 2])}, "each page must have a server"),
        (ARRAYS | {"size": np.array([1, 2])}, "size"),
        (ARRAYS | {"size": np.array([1, 2, 3, -4])}, "size"),
        (ARRAYS | {"alias": np.array([0, 1])}, "not a graph"),
        ({"indptr": np.array([0]), "links": np.array([]), "host": np.array([])}, "no page"),
    ],
)
def test_wrong_arrays_are_told(tmp_path: Path, arrays: dict[str, np.ndarray], message: str) -> None:
    """What is missing or does not fit."""
    with pytest.raises(ValueError, match=message):
        load(save(tmp_path / "graph.npz", **arrays))


@pytest.mark.parametrize("content", [b"", b"text", b"PK\x03\x04 broken"])
@pytest.mark.parametrize("name", ["graph.npz", "links.tsv", "links.tsv.gz"])
def test_files_that_are_no_graphs_are_told(tmp_path: Path, content: bytes, name: str) -> None:
    """By a ValueError, whatever they hold."""
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=r"."):
        load(tmp_path / name)


@given(graphs, st.integers(1, 4))
def test_discovered_pages_are_those_of_a_crawl_with_a_budget(graph: LinkGraph, per_server: int) -> None:
    """First come, first served, breadth-first; dropped pages are not followed."""
    links, wave, room, found = links_of(graph), [0], dict.fromkeys(range(4), per_server), []
    while wave:
        new = []
        for page in wave:
            if page not in found and room[graph.server[page]]:
                room[graph.server[page]] -= 1
                found.append(page)
                new.append(page)
        wave = [link for page in new for link in links[page]]
    assert graph.discovered([0], per_server).tolist() == found


def test_part_of_a_graph(tmp_path: Path) -> None:
    """Pages in the order given, links among them only, servers numbered anew."""
    graph = load(save(tmp_path / "graph.npz", **ARRAYS)).part(np.array([3, 2, 0]))
    assert links_of(graph) == [[1], [], [1]]
    assert graph.server.tolist() == [0, 1, 0]
    assert graph.size.tolist() == [40, 30, 10]


def test_web_of_a_graph_has_its_links_and_sizes_and_drawn_times(tmp_path: Path) -> None:
    """Another seed draws other times; the graph stays."""
    path = str(save(tmp_path / "graph.npz", **ARRAYS))
    first, again, other = (build(GraphSpec(path, seed)) for seed in (1, 1, 2))
    assert first.size.tolist() == other.size.tolist()
    assert first.targets.tolist() == other.targets.tolist()
    assert first.page_time.tolist() == again.page_time.tolist()
    assert (first.page_time != other.page_time).all()
    assert (build(GraphSpec(path, 1, "heritrix")).page_time != first.page_time).all()


def test_web_starts_where_it_is_told_to(tmp_path: Path) -> None:
    """By number or by URL; only what can be reached from there is in it; the starts come first."""
    path = tmp_path / "links.tsv"
    path.write_text("http://a.example/\thttp://a.example/1\nhttp://a.example/1\nhttp://b.example/\n")
    web = build(GraphSpec(str(path), starts=("http://b.example/", "1")))
    assert web.urls == ["http://b.example/", "http://a.example/1"]
    assert web.seeds.tolist() == [0, 1]
    assert build(GraphSpec(str(path))).urls == ["http://a.example/", "http://a.example/1"]
    for wrong in ("3", "http://c.example/", "-1"):
        with pytest.raises(ValueError, match="to start from"):
            build(GraphSpec(str(path), starts=(wrong,)))


@pytest.mark.long
def test_university_web_is_reached_whole() -> None:
    """UIC 2018: 10,194 pages on 369 hosts from the default start, 315,257 links among all."""
    path = real("graphs/uic.graph.npz")
    graph = load(path)
    assert (graph.pages, graph.servers, len(graph.targets)) == (10_247, 370, 315_257)
    web = build(GraphSpec(str(path), dead_share=0.05))
    assert (web.pages, web.servers) == (10_194, 369)
    assert web.dead.sum() == 18
    assert not web.dead[web.server[web.seeds]].any()


@pytest.mark.long
def test_pagerank_of_the_university_web_is_the_reference() -> None:
    """Computed elsewhere, damping .85."""
    path = real("graphs/uic.graph.npz")
    graph = load(path)
    assert pagerank(graph.indptr, graph.targets) == pytest.approx(np.load(path)["pagerank"], abs=1e-9)
    assert len(sources_of(graph.indptr)) == len(graph.targets)
