"""Wrong settings: refused at start, by name, with the value and what is allowed."""

from __future__ import annotations

from pathlib import Path

import pytest
from scrapy.settings import Settings

from crawlproject.frontier import CapacityBased, Entry
from crawlproject.frontier.quality import Deepest, DepthQuality, ScoredQuality
from crawlproject.options.scheduling import FrontierOptions


def refusal(**settings: object) -> str:
    """What is said to ``settings``."""
    with pytest.raises(ValueError, match=r"^(FRONTIER|CONCURRENT)_") as error:
        FrontierOptions.from_settings(Settings(settings))
    return str(error.value)


@pytest.mark.parametrize("group", ["server", "domain"])
def test_new_frontier_has_the_settings(group: str) -> None:
    """Policy, politeness, groups."""
    settings = {"FRONTIER_POLICY": "capacity", "FRONTIER_MIN_DELAY": 7}
    options = FrontierOptions.from_settings(Settings(settings | {"FRONTIER_POLITENESS_GROUP": group}))
    frontier = options.new_frontier()
    frontier.push([Entry("http://a.example.org/"), Entry("http://b.example.org/")])
    one, other = frontier.servers
    assert isinstance(frontier.policy, CapacityBased)
    assert frontier.politeness is options.politeness
    assert (one.group is not None and one.group is other.group) is (group == "domain")


def test_memory_backend_has_no_directory() -> None:
    """Not even with JOBDIR, in which other components keep their files."""
    settings = {"JOBDIR": "job", "FRONTIER_BACKEND": "memory"}
    assert FrontierOptions.from_settings(Settings(settings)).directory is None
    assert FrontierOptions.from_settings(Settings({"JOBDIR": "job"})).directory == Path("job", "frontier")


def test_settings_are_read_as_text_too() -> None:
    """The command line gives every value as text."""
    settings = {"FRONTIER_POLICY": "breadth-first", "FRONTIER_MAX_SESSIONS": "5", "FRONTIER_MIN_DELAY": "0.25"}
    options = FrontierOptions.from_settings(Settings(settings))
    assert (options.policy.__name__, options.max_sessions, options.politeness.min_delay) == ("BreadthFirst", 5, 0.25)


def test_classes_are_given_by_their_path() -> None:
    """Policy and quality may be the project's own."""
    settings = {
        "FRONTIER_POLICY": "crawlproject.frontier.CapacityBased",
        "FRONTIER_QUALITY": "crawlproject.frontier.quality.DepthQuality",
    }
    options = FrontierOptions.from_settings(Settings(settings))
    assert options.policy is CapacityBased
    assert isinstance(options.quality, DepthQuality)


@pytest.mark.parametrize(
    ("name", "choice"),
    [
        ("FRONTIER_POLICY", "breadth"),
        ("FRONTIER_POLITENESS", "session"),
        ("FRONTIER_POLITENESS_GROUP", "domain"),
        ("FRONTIER_BACKEND", "memory"),
        ("FRONTIER_QUALITY", "depth"),
    ],
)
@pytest.mark.parametrize("value", ["fastest", 7, ["capacity"]])
def test_unknown_choice_is_refused(name: str, choice: str, value: object) -> None:
    """The message names the setting, the value and the choices."""
    message = refusal(**{name: value})
    assert message.startswith(f"{name}={value!r}: must be one of ")
    assert choice in message


@pytest.mark.parametrize("value", [-1, "-0.5", float("nan"), "inf", "soon", "", "1,5", [1]])
def test_number_out_of_range_is_refused(value: object) -> None:
    """Finite and not negative; or whole. All names: ``test_values.py``."""
    assert refusal(FRONTIER_MIN_DELAY=value) == f"FRONTIER_MIN_DELAY={value!r}: must be a number >= 0"
    assert refusal(FRONTIER_MAX_BATCH=value) == f"FRONTIER_MAX_BATCH={value!r}: must be a whole number >= 1"


@pytest.mark.parametrize("what", ["DELAY", "BACKOFF"])
def test_minimum_above_maximum_is_refused(what: str) -> None:
    """Both settings are named."""
    message = refusal(**{f"FRONTIER_MIN_{what}": "20", f"FRONTIER_MAX_{what}": 10})
    assert message == f"FRONTIER_MIN_{what}='20': must not be above FRONTIER_MAX_{what}=10"


@pytest.mark.parametrize("name", ["FRONTIER_POLICY", "FRONTIER_QUALITY"])
@pytest.mark.parametrize("path", ["nowhere.Policy", "crawlproject.frontier.Fastest", ".", "..x", "a b.c", "json.dumps"])
def test_class_that_does_not_load_is_refused(name: str, path: str) -> None:
    """Whether the module, the class or its methods are missing."""
    assert refusal(**{name: path}).startswith(f"{name}={path!r}: ")


def test_scores_need_a_file(tmp_path: Path) -> None:
    """A file that is not named, or not there."""
    assert "FRONTIER_QUALITY_FILE must name a file" in refusal(FRONTIER_QUALITY="scores")
    path = str(tmp_path / "missing.tsv")
    message = refusal(FRONTIER_QUALITY="scores", FRONTIER_QUALITY_FILE=path)
    assert message == f"FRONTIER_QUALITY_FILE={path!r}: No such file or directory"


@pytest.mark.parametrize(
    "line", [b"http://a/", b"http://a/\t", b"http://a/\tmuch", b"http://a/\t-1", b"http://a/\tnan"]
)
def test_malformed_score_is_refused(tmp_path: Path, line: bytes) -> None:
    """The message says which line."""
    path = tmp_path / "scores.tsv"
    path.write_bytes(b"http://b/\t0.5\n\n" + line + b"\n")
    message = refusal(FRONTIER_QUALITY="scores", FRONTIER_QUALITY_FILE=str(path))
    assert message.startswith(f"FRONTIER_QUALITY_FILE={str(path)!r}: line 3: expected URL<TAB>score")


def test_scores_are_read(tmp_path: Path) -> None:
    """The file's scores are the pages' worth, and 0 for the others."""
    path = tmp_path / "scores.tsv"
    path.write_text("http://a/\t0.25\nhttp://b/\t3\n")
    settings = {"FRONTIER_QUALITY": "scores", "FRONTIER_QUALITY_FILE": path}
    quality = FrontierOptions.from_settings(Settings(settings)).quality
    assert isinstance(quality, ScoredQuality)
    assert [quality.quality(f"http://{host}/", 0) for host in "abc"] == [0.25, 3.0, 0.0]


def test_depth_first_has_a_quality_of_its_own() -> None:
    """Another one is refused."""
    assert type(FrontierOptions.from_settings(Settings({"FRONTIER_POLICY": "depth-first"})).quality) is Deepest
    both = Settings({"FRONTIER_POLICY": "depth-first", "FRONTIER_QUALITY": "opic"})
    with pytest.raises(ValueError, match="FRONTIER_QUALITY: the policy of FRONTIER_POLICY has a quality of its own"):
        FrontierOptions.from_settings(both)
