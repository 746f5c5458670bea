"""``scrapy crawl topic``: what it fetches, in which order, what it keeps, and bad input."""

from __future__ import annotations

import json
from itertools import islice, pairwise, product
from pathlib import Path

import pytest
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.test import get_crawler

from crawlproject.content.relevance.focus import LinkModel
from crawlproject.spiders.topic import MAX_TUNNEL, Learned, StateFile, TopicSpider, _read_example
from tests.crawl.crawling import IMPOLITE
from tests.crawl.differential import Run, run_on
from tests.crawl.loop_probe import STEP, STEP_OF
from tests.crawl.scripted_site import Answer, Script, scripted_site

SPIDER = "crawlproject.spiders.topic.TopicSpider"
TOPIC = "threshold = 0.1\n[terms]\nthread = 2\nmutex = 1\n"
GOOD = "A thread waits for the mutex of another thread."
#: Seconds of CPU that one callback of the event loop may take.
LONGEST_STEP = 0.25
DULL = "Soup and salad are served in the kitchen."


def html(text: str, *links: str, title: str = "page") -> Answer:
    anchors = "".join(
        f'<p><a href="{link.split()[0]}">{" ".join(link.split()[1:]) or "more"}</a></p>' for link in links
    )
    body = f"<html><head><title>{title}</title></head><body><p>{text}</p>{anchors}</body></html>"
    return Answer(body, headers={"Content-Type": "text/html"})


def topic_file(folder: Path, text: str = TOPIC) -> str:
    path = folder / "topic.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def crawl(script: Script, topic: str, **arguments: str) -> Run:
    with scripted_site(1) as site:
        site.script = script
        settings = {**IMPOLITE, "FRONTIER_GUARD_PROBES": False}
        return run_on(site, SPIDER, settings=settings, topic=topic, seeds=site.url("1/"), **arguments)


CHAIN = {
    "1/": html(GOOD, "/good", "/dull1"),
    "1/good": html(GOOD),
    "1/dull1": html(DULL, "/dull2"),
    "1/dull2": html(DULL, "/dull3", "/far"),
    "1/far": html(GOOD),
    "1/dull3": html(DULL, "/dull4"),
}


@pytest.mark.parametrize(
    ("tunnel", "fetched"),
    [
        ("0", {"1/", "1/good", "1/dull1"}),
        ("1", {"1/", "1/good", "1/dull1", "1/dull2"}),
        ("2", {"1/", "1/good", "1/dull1", "1/dull2", "1/dull3", "1/far"}),
    ],
)
def test_links_are_followed_so_far_below_the_threshold(tunnel: str, fetched: set[str], tmp_path: Path) -> None:
    """Relevant pages are items with their relevance; stats tell the harvest."""
    done = crawl(CHAIN, topic_file(tmp_path), tunnel=tunnel)
    assert set(done.site.places()) == fetched
    items = {item["url"]: item for item in done.items()}
    assert set(items) == {"1/", "1/good"} | ({"1/far"} & fetched)
    assert all(0.1 <= item["relevance"] <= 1 for item in items.values())
    assert done.stat("topic/pages") == len(fetched)
    assert done.stat("topic/relevant") == len(items)
    assert done.stat("topic/harvest_rate") == round(len(items) / len(fetched), 4)
    assert f"Harvest: {len(items)} of {len(fetched)} pages are relevant" in done.crawl.log


def test_seeds_count_as_on_the_topic_for_their_links(tmp_path: Path) -> None:
    """A start page, and the lists that it links to, are mostly below the threshold: the crawl would end there."""
    script = {
        "1/": html(DULL, "/list"),
        "1/list": html(DULL, "/good", "/dull"),
        "1/good": html(GOOD),
        "1/dull": html(DULL, "/far"),
    }
    done = crawl(script, topic_file(tmp_path))
    assert set(done.site.places()) == {"1/", "1/list", "1/good", "1/dull"}
    assert [item["url"] for item in done.items()] == ["1/good"]


def test_links_with_words_of_the_topic_come_first(tmp_path: Path) -> None:
    """By link text, and by what was learned from pages before: the words of folders that brought nothing."""
    others = [f"/x{number}" for number in range(8)]
    script = {"1/": html(GOOD, *others[:4], "/best mutex and thread", *others[4:]), "1/best": html(GOOD)}
    done = crawl({**script, **{f"1{path}": html(DULL) for path in others}}, topic_file(tmp_path))
    assert done.site.places()[1] == "1/best"
    assert done.stat("topic/learned") == 9


def test_the_topic_is_learned_from_pages(tmp_path: Path) -> None:
    """From URLs and from files; an example that cannot be fetched costs a line."""
    (tmp_path / "example.html").write_text(f"<title>Threads</title><p>{GOOD}", encoding="utf-8")
    with scripted_site(1) as site:
        site.script = {**CHAIN, "1/example": html(GOOD, title="Mutex")}
        examples = json.dumps([site.url("1/example"), site.url("1/missing"), "example.html"])
        topic = topic_file(tmp_path, f"examples = {examples}\n")
        done = run_on(site, SPIDER, settings=IMPOLITE, topic=topic, seeds=site.url("1/"))
    assert {item["url"] for item in done.items()} == {"1/", "1/good"}
    assert done.stat("topic/bad_examples") == 1
    assert "Topic of 2 examples" in done.crawl.log
    assert "missing skipped: status 404" in done.crawl.log


def test_an_example_is_read_in_its_encoding(tmp_path: Path) -> None:
    """As saved from a site in another encoding than UTF-8."""
    (tmp_path / "example.html").write_text("<meta charset=koi8-r><title>Потоки</title>", encoding="koi8-r")
    (tmp_path / "example.txt").write_text("Потоки", encoding="utf-8")
    assert _read_example(tmp_path / "example.html").title == "Потоки"
    assert _read_example(tmp_path / "example.txt").text == "Потоки"


def test_an_example_without_text_is_none(tmp_path: Path) -> None:
    """It would lower the threshold, and a PDF would teach its bytes."""
    for name, body in ("a.pdf", b"%PDF-1.4\n\0\1\2"), ("b.html", b" \n"):
        (tmp_path / name).write_bytes(body)
        with pytest.raises(ValueError, match=rf"{name}': no text"):
            _read_example(tmp_path / name)
    with scripted_site(1) as site:
        empty, pdf = html("", title=""), Answer(b"%PDF-1.4\n\0\1", headers={"Content-Type": "application/pdf"})
        site.script = {**CHAIN, "1/empty": empty, "1/pdf": pdf, "1/example": html(GOOD)}
        examples = json.dumps([site.url(f"1/{name}") for name in ("empty", "pdf", "example")])
        topic = topic_file(tmp_path, f"examples = {examples}\n")
        done = run_on(site, SPIDER, settings=IMPOLITE, topic=topic, seeds=site.url("1/"))
    assert done.stat("topic/bad_examples") == 2
    assert done.crawl.log.count("skipped: no text") == 2
    assert "Topic of 1 examples" in done.crawl.log


def test_without_any_example_there_is_nothing_to_crawl_for(tmp_path: Path) -> None:
    """One line says so."""
    with scripted_site(1) as site:
        topic = topic_file(tmp_path, f'examples = ["{site.url("1/missing")}"]\n')
        done = run_on(site, SPIDER, settings=IMPOLITE, topic=topic, seeds=site.url("1/"))
    assert done.reason == "no_topic"
    assert done.site.places() == ["1/missing"]
    assert "No example of the topic could be read" in done.crawl.log


def test_what_was_learned_survives_a_restart(tmp_path: Path) -> None:
    """In JOBDIR, with the terms learned; not after other examples."""
    settings = {**IMPOLITE, "JOBDIR": str(tmp_path / "job"), "CLOSESPIDER_PAGECOUNT": 2}
    (tmp_path / "example.html").write_text(f"<p>{GOOD}", encoding="utf-8")
    topic = topic_file(tmp_path, 'examples = ["example.html"]\n')
    state = tmp_path / "job" / "topic.json"
    with scripted_site(1) as site:
        site.script = CHAIN

        def again(topic: str, **changed: object) -> Run:
            return run_on(site, SPIDER, settings={**settings, **changed}, topic=topic, seeds=site.url("1/"))

        first = again(topic)
        kept = json.loads(state.read_text())
        assert kept["model"]["learned"] == first.stat("topic/learned") > 0
        assert "thread" in kept["terms"]
        second = again(topic, CLOSESPIDER_PAGECOUNT=0)
        assert second.stat("topic/learned") >= first.stat("topic/learned")
        assert "Topic of" not in second.crawl.log
        assert set(site.places()) == {"1/", "1/good", "1/dull1", "1/dull2"}  # the steps were stored, too
        report = (tmp_path / "job" / "report" / "report.html").read_text(encoding="utf-8")
        assert "Of 4 pages, 2 are on the topic (50.0%)." in report  # of both runs
        other = again(topic_file(tmp_path, 'examples = ["example.html"]\nterms = ["mutex"]\n'))
        assert "learned for another topic, or from other examples; not used" in other.crawl.log


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"sources": 0', "{}", '{"sources": SAME, "terms": null, "threshold": null, "model": {"learned": 1}}'],
)
def test_a_damaged_state_costs_one_stat_and_one_line(
    text: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stats = MemoryStatsCollector(get_crawler())
    file = StateFile(tmp_path, [], stats)
    assert file.load() is None
    file.save(Learned(LinkModel()))
    assert file.load() is not None
    assert not caplog.records
    (tmp_path / "topic.json").write_text(text.replace("SAME", str(file._sources)))
    assert file.load() is None
    assert stats.get_value("topic/state_damaged") == 1
    assert caplog.text.count("damaged, so links are learned from the beginning") == 1


def test_terms_learned_from_examples_are_stored_before_the_first_page(tmp_path: Path) -> None:
    """A crawl killed in its first minute resumes, even if the examples are gone by then."""
    state, stored = tmp_path / "job" / "topic.json", list[bool]()

    def seed(_: object) -> Answer:
        stored.append("thread" in json.loads(state.read_text())["terms"] if state.exists() else False)
        return html(GOOD)

    with scripted_site(1) as site:
        site.script = {"1/": seed, "1/example": html(GOOD)}
        topic = topic_file(tmp_path, f'examples = ["{site.url("1/example")}"]\n')
        settings = {**IMPOLITE, "JOBDIR": str(tmp_path / "job")}
        run_on(site, SPIDER, settings=settings, topic=topic, seeds=site.url("1/"))
    assert stored == [True]


def test_mixed_and_odd_pages(tmp_path: Path) -> None:
    """Two languages, plain text, a file: each is one page of the crawl."""
    script = {
        "1/": html(GOOD, "/mixed", "/plain", "/file"),
        "1/mixed": html("Ein Thread wartet auf den Mutex. 线程 thread mutex 互斥锁。"),
        "1/plain": Answer(GOOD, headers={"Content-Type": "text/plain"}),
        "1/file": Answer(b"\0\1\2", headers={"Content-Type": "image/png"}),
    }
    done = crawl(script, topic_file(tmp_path), tunnel="0")
    assert {item["url"] for item in done.items()} == {"1/", "1/mixed", "1/plain"}
    assert done.stat("topic/pages") == 4
    assert not done.has_errors()


def test_large_pages_do_not_hold_the_event_loop(tmp_path: Path) -> None:
    """5 MB of English, of Chinese, and of words in a language of long ones; thousands of links: no word is repeated."""
    words = product("abcdefghijklmnopqrst", repeat=5)
    english, finnish = ["".join(word) for word in islice(words, 850_000)], "llisuuksiensa "
    han = "".join(chr(code) for code in range(0x4E00, 0x9F00))
    links = "".join(f'<a href="/x/{one}/l{two}">{one} {two}</a> {two}{one}, ' for one, two in pairwise(english[:5_000]))
    script = {
        "1/": html(GOOD, "/english", "/chinese", "/finnish", "/links"),
        "1/english": html(f"{GOOD} {' '.join(english)[:5_000_000]}"),
        "1/chinese": html(f"{GOOD} {'线程等待互斥锁。' * 100} {han * 80}"),
        "1/finnish": html(f"ja on ei että se hän oli ovat mutta {finnish.join(english)[:5_000_000]}"),
        "1/links": html(f"{GOOD} {links}", title="thread mutex"),
    }
    with scripted_site(1) as site:
        site.script = script
        settings = {**IMPOLITE, "EXTENSIONS": {"tests.crawl.loop_probe.LoopProbe": 1}}
        arguments = {"topic": topic_file(tmp_path), "tunnel": "0", "exclude": "*/x/*"}
        done = run_on(site, SPIDER, settings=settings, seeds=site.url("1/"), **arguments)
    assert set(done.site.places()) == script.keys()
    assert {"1/", "1/links"} <= {item["url"] for item in done.items()}
    assert done.stat("fates/link/excluded") > 4_000
    assert done.stat(STEP) <= LONGEST_STEP, done.stat(STEP_OF)
    assert not done.has_errors()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({}, "topic='': must be a TOML file"),
        ({"topic": "/none.toml"}, "No such file"),
        ({"tunnel": "-1"}, f"tunnel='-1': must be a whole number from 0 to {MAX_TUNNEL}"),
        ({"tunnel": "x"}, "tunnel='x'"),
        ({"threshold": "0.2"}, "unknown argument of the spider topic; known arguments: topic, tunnel, seeds, "),
    ],
)
def test_bad_arguments_are_refused(arguments: dict[str, str], reason: str, tmp_path: Path) -> None:
    """With one line."""
    known = (
        {"topic": topic_file(tmp_path), "seeds": "http://a.example/"} if arguments else {"seeds": "http://a.example/"}
    )
    with pytest.raises(ValueError, match=reason):
        TopicSpider(**{**known, **arguments})
