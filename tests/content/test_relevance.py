"""Words, languages, topics as term vectors, features of links, and the model that learns from them."""

import json
import random
import string
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from crawlproject.content.relevance.focus import Anchor, Focus, LinkModel, anchors
from crawlproject.content.relevance.topic import Example, Topic, learned, learned_threshold, own_lines, read_topic
from crawlproject.content.relevance.words import MAX_TEXT, MAX_WORD, folded, language_of, terms_of, words_of

THREADS = Topic({"thread": 2.0, "race condition": 1.0, "线程": 2.0})


def test_words_end_where_unicode_says() -> None:
    """Marks belong to their letters, case and compatibility forms do not matter, underscores separate."""
    text = "Straße ﬁle thread_create कर्म naı̈ve 3.14 don't"
    assert words_of(folded(text)) == ["strasse", "file", "thread", "create", "कर्म", "naı̈ve", "3", "14", "don", "t"]
    assert terms_of("Threads threading 42", "en") == {"thread": 2}


def test_characters_that_are_not_shown_split_no_words() -> None:
    """Soft hyphens, joiners; a zero width space is the border of words."""
    assert words_of(folded("Neben\u00adläufig\u00adkeit a\u2060b c\u200bd")) == ["nebenläufigkeit", "ab", "c", "d"]
    assert words_of(folded("\ud800é")) == ["é"]  # half a surrogate pair, as charset=unicode_escape can spell it


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("このプリンターで印刷するには", "プリンター"),
        ("한국어 문서를 인쇄합니다", "문서"),
        ("เปิดเครื่องพิมพ์และพิมพ์เอกสาร", "เครื่องพิมพ์"),
        ("ដើម្បីបោះពុម្ពឯកសារ", "បោះពុម្ព"),
    ],
)
def test_words_without_spaces_around_them_are_found(text: str, term: str) -> None:
    """Katakana ends where the script changes; Hangul, Thai and Khmer are compared by parts of two or three letters."""
    assert set(words_of(folded(term))) <= set(words_of(folded(text)))
    assert Topic({term: 1.0}).relevance("", text).value > 0.1


def test_chinese_is_segmented_within_any_text() -> None:
    """By dictionary, whatever the language of the page."""
    terms = terms_of("The kernel: 多线程编程 and 操作系统", "en")
    assert {"kernel", "多线程", "编程", "操作系统"} <= terms.keys()


@pytest.mark.parametrize(
    ("text", "declared", "language"),
    [
        ("the cat is in the garden and it is not on the tree", "de", "en"),
        ("der Hund ist nicht in dem Garten und die Katze auf dem Baum", "en", "de"),
        ("le chat est dans le jardin et il ne va pas sur les arbres", "", "fr"),
        ("кошка не в саду и не на дереве, как и собака и птица", "", "ru"),
        ("mutex", "sv", "sv"),
        ("mutex", "", "en"),
        ("mutex", "xx", "en"),
    ],
)
def test_the_text_tells_its_language(text: str, declared: str, language: str) -> None:
    """Its declaration counts only where the text is too short."""
    assert language_of(words_of(folded(text)), declared) == language


def test_relevance_orders_pages() -> None:
    """By words of the topic in title and text; in any language that has them; never outside 0 to 1."""
    about = THREADS.relevance("Threads", "A thread may wait for another thread; race conditions follow.")
    mentions = THREADS.relevance("Cooking", "Soup, salad, bread and one thread of saffron.")
    other = THREADS.relevance("Cooking", "Soup, salad and bread.")
    chinese = THREADS.relevance("线程", "每个线程都有自己的栈。")
    assert 1 >= about.value > mentions.value > other.value == 0
    assert chinese.value > 0.3
    assert THREADS.relevance("", "").value == 0
    mixed = THREADS.relevance("", "Ein Thread ist ein Faden, und die Threads warten auf das Ende. 线程和进程 " * 3)
    assert mixed.value > 0.1


def test_a_topic_is_learned_from_examples() -> None:
    """Their common rare words; pages like them are above the threshold learned, others below."""
    texts = ["The mutex protects the queue.", "A mutex is locked by one thread.", "Lock the mutex in the thread."]
    examples = [Example("", text) for text in texts]
    terms = learned(examples, 5)
    topic = Topic(terms)
    assert "mutex" in terms
    assert len(terms) == 5
    threshold = learned_threshold(topic, examples)
    assert topic.relevance("", "which thread has locked this mutex").value > threshold
    assert topic.relevance("", "the soup was in the kitchen").value < threshold
    assert learned([]) == {}


def _blog_page(title: str, text: str) -> Example:
    """A page of a blog whose menus, notices and lists of months name other things on each page."""
    menus = "<nav>kettle harbour</nav><aside>meadow</aside><p>Comments are moderated by Hildegard.</p>"
    tags = "<ul><li><a href=/tag/violin>violin</a><li><a href=/2016/03>March</a></ul><footer>lighthouse</footer>"
    html = f"<title>{title} | Marmalade</title>{menus}<article><p>{text}</p></article>{tags}"
    visible = f"kettle harbour meadow Comments are moderated by Hildegard. {text} violin March lighthouse"
    return Example(f"{title} | Marmalade", visible, "en", own_lines(html))


def test_what_pages_of_a_site_have_in_common_is_not_the_topic() -> None:
    """Links and menus of one example, and lines that several share; else each page of the site is relevant."""
    texts = ("The mutex protects the queue.", "A mutex is locked by a thread.", "Lock the mutex in the thread.")
    examples = [_blog_page(f"Part {number}", text) for number, text in enumerate(texts)]
    assert "hildegard" in learned(examples[:1])
    assert not {"kettle", "meadow", "violin", "march", "lighthouse"} & learned(examples[:1]).keys()
    terms = learned(examples)
    assert {"mutex", "thread"} <= terms.keys()
    assert not {"kettle", "violin", "comments", "hildegard", "marmalade"} & terms.keys()
    other = _blog_page("Soup", "The soup was in the kitchen.")
    assert Topic(terms).relevance(*other[:3]).value < learned_threshold(Topic(terms), examples)


def test_the_fewer_examples_the_lower_is_the_threshold() -> None:
    """The terms of a single example are its own: no other page is as near to them."""
    topic, page = Topic({"mutex": 1.0}), Example("Mutex", "The mutex protects the queue.")
    one, ten = learned_threshold(topic, [page]), learned_threshold(topic, [page] * 10)
    assert one / ten == pytest.approx(0.4 / (10 / 11.5))


# hostile text: CPU time is bounded, so that no page holds the event loop for 0.25 s

CHARACTERS = random.Random(1)
HOSTILE: dict[str, Callable[[], str]] = {
    "5 MB of words": lambda: "lorem ipsum dolor " * 300_000,
    "5 MB without a space": lambda: "x" * 5_000_000,
    "5 MB of Chinese": lambda: "的确实现在线程中" * 700_000,
    "one character": lambda: "龘" * 5_000_000,
    "distinct words": lambda: " ".join(
        "".join(CHARACTERS.choices(string.ascii_lowercase, k=3)) for _ in range(300_000)
    ),
    "marks": lambda: "a" + "\u0301\u0327" * 1_000_000,
    "ligatures": lambda: "\ufdfa" * 1_000_000,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_is_bounded(name: str) -> None:
    """Only the first MAX_TEXT characters are read; words longer than MAX_WORD are none."""
    text = HOSTILE[name]()
    THREADS.relevance("", "warm up é 的")
    before = time.thread_time()
    THREADS.relevance(text, text)
    assert time.thread_time() - before < 1  # up to 0.1 s alone on a slow machine, seconds for the whole text
    assert sum(map(len, terms_of(text, "en"))) <= MAX_TEXT
    assert all(len(term) <= MAX_WORD for term in terms_of(text, "en"))


# links


def test_anchors_have_their_text_and_the_words_around() -> None:
    """Without markup, without the text of other links; of several links to one page the first that has a text."""
    html = (
        '<p>see <a href="a#x">the <b>thread</b> pool</a> for workers <a href=b>b</a>'
        "<a href=c><img></a> <a href=c>named</a> <script>no()</script></p>"
    )
    found = anchors(html)
    assert found["a"].text.split() == ["the", "thread", "pool"]
    assert found["a"].around.split() == ["see", "for", "workers"]
    assert found["c"].text == "named"
    assert anchors("") == anchors("no link") == {}
    assert set(anchors("<a href=a>\x02 \x03</a><a href=b>x</a>")) <= {"a", "b"}  # such characters of the page itself


def test_features_tell_good_links_from_others() -> None:
    """Before anything is learned, by the topic's words in text, surroundings and URL."""
    model = LinkModel()
    reader = Focus(THREADS, model)

    def predicted(url: str, text: str, around: str, relevance: float) -> float:
        return model.predict(reader.features(f"http://a.example/{url}", Anchor(text, around), relevance, "en"))

    plain = predicted("x", "more", "", 0.0)
    assert predicted("x", "thread pools", "", 0.0) > plain
    assert predicted("x", "more", "about threads", 0.0) > plain
    assert predicted("ThreadPool.html", "more", "", 0.0) > plain
    assert predicted("x", "more", "", 0.5) > plain
    assert reader.features("http://a.example", None, 0.0, "en").numbers[0] == 1.0


def test_the_model_learns_which_words_lead_to_relevant_pages() -> None:
    """And forgets nothing in its state."""
    model = LinkModel()
    reader = Focus(THREADS, model)
    good = reader.features("http://a.example/good/1", Anchor("concurrent", ""), 0.0, "en")
    bad = reader.features("http://a.example/bad/1", Anchor("soup", ""), 0.0, "en")
    before = model.predict(good)
    for _ in range(1_000):
        model.learn(good, 1.0)
        model.learn(bad, 0.0)
    alike = reader.features("http://a.example/good/2", Anchor("concurrent things", ""), 0.0, "en")
    assert model.predict(alike) > 10 * before > 10 * model.predict(bad)
    again = LinkModel.from_state(json.loads(json.dumps(model.to_state())))
    assert again.predict(alike) == model.predict(alike)
    again.learn(good, 1.0)
    model.learn(good, 1.0)
    assert again.predict(alike) == model.predict(alike)
    assert again.learned == model.learned == 2_001


# topic files


def written(folder: Path, text: str) -> Path:
    path = folder / "topic.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_topic_file(tmp_path: Path) -> None:
    """Terms with weights, or a list; examples as URLs and files."""
    path = written(tmp_path, 'threshold = 0.2\nexamples = ["http://a.example/", "b.html"]\n[terms]\nthread = 2\n')
    file = read_topic(path)
    assert (file.topic().threshold, dict(file.terms)) == (0.2, {"thread": 2.0})
    assert (file.urls(), file.files()) == (["http://a.example/"], [tmp_path / "b.html"])
    assert dict(read_topic(written(tmp_path, 'terms = ["a", "b"]')).terms) == {"a": 1.0, "b": 1.0}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "terms: the topic is empty"),
        ("[terms]\n'...' = 1\n", "terms: the topic is empty"),
        ("a = 1\nterms = [\n", "Invalid"),
        ("tresh = 1\n", "tresh: unknown key"),
        ("threshold = 2\n[terms]\na = 1\n", "threshold: must be above 0"),
        ("threshold = 0\n[terms]\na = 1\n", "threshold: must be above 0"),
        ("threshold = nan\n[terms]\na = 1\n", "threshold: must be a number >= 0"),
        ("[terms]\na = 1\nb = 0\n", "terms: the weight of 'b' must be above 0"),
        ("[terms]\na = true\n", "'a': must be a number"),
        ("terms = ['a', 1]\n", "a table of weights, or a list of words"),
        ("terms = 5\n", "table of weights"),
        (f"threshold = {10**400}\nterms = ['a']\n", "threshold: must be a number"),
        ("examples = [1]\n", "list of URLs"),
    ],
)
def test_a_wrong_file_is_refused(text: str, reason: str, tmp_path: Path) -> None:
    """In one line that names the file, and the key or the line."""
    path = written(tmp_path, text)
    with pytest.raises(ValueError, match=reason) as error:
        read_topic(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.usefixtures("no_collection")
def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """Missing, a folder, not UTF-8, too deep."""
    with pytest.raises(ValueError, match="No such file"):
        read_topic(tmp_path / "none.toml")
    with pytest.raises(ValueError, match="Is a directory"):
        read_topic(tmp_path)
    path = tmp_path / "topic.toml"
    path.write_bytes(b"terms = ['\xff']")
    with pytest.raises(ValueError, match="utf-8"):
        read_topic(path)
    path.write_text("terms = " + "[" * 100_000)
    with pytest.raises(ValueError, match="recursion"):
        read_topic(path)


def test_links_are_remembered_without_their_urls() -> None:
    """Which strangers make as long as they like."""
    focus = Focus(THREADS, LinkModel())
    judged = THREADS.relevance("", "thread")
    url = "http://a.example/" + "x" * 2_000
    assert len([*focus.rate(judged, [(url, None), (url, None)])]) == 2
    assert all(isinstance(key, int) for key in focus._rated)
    focus.judge(url, "thread", "thread thread", "en")
    assert focus.model.learned == 1
    assert not focus._rated
