"""Many crawls of the same webs, and their scores side by side."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from crawlproject.frontier import POLICIES, CapacityBased, Policy
from crawlproject.simulation.crawl import CrawlOptions
from crawlproject.simulation.experiment import ESTIMATES, Experiment, Knowledge, Trial, policy_of, run, web_of
from crawlproject.simulation.graph import GraphSpec
from crawlproject.simulation.synthetic import SyntheticSpec
from tests.data import real

SMALL = SyntheticSpec(servers=20, pages=300)
SMALL_EXPERIMENT = Experiment((SMALL, replace(SMALL, seed=2)), ("pagerank", "zipf"), options=CrawlOptions(sessions=4))


class SlowestFirst(Policy):
    """A policy of one's own: it has what the documentation asks for, and nothing else."""

    def rank(self, server) -> float:
        return server.estimates.response_time


@pytest.fixture(scope="module")
def trials() -> list[Trial]:
    """All policies on two small webs, two qualities each."""
    return run(SMALL_EXPERIMENT)


def test_scores_lie_between_nothing_and_the_bound(trials: list[Trial]) -> None:
    """Breadth-first has gap 0 and is 1 of its own t80; best prefix leads."""
    for trial in trials:
        assert 0 < trial.score["nauc"] < 1
        assert trial.score["gap"] < 1
        assert trial.outcome.curve.shares[-1] == pytest.approx(1)
    by_policy = {name: [trial.score["nauc"] for trial in trials if trial.policy == name] for name in POLICIES}
    assert all(trial.score["gap"] == 0 and trial.score["t80_breadth_first"] == 1 for trial in trials[::5])
    assert np.mean(by_policy["prefix"]) > np.mean(by_policy["capacity"]) > np.mean(by_policy["breadth-first"])


def test_processes_change_nothing(trials: list[Trial]) -> None:
    """Two of them give the same scores, also with a policy that they must import."""
    own = f"{__name__}.SlowestFirst"
    parallel = run(replace(SMALL_EXPERIMENT, webs=(SMALL,), qualities=("zipf",), policies=("capacity", own)), jobs=2)
    [alone] = [trial for trial in trials if (trial.web, trial.quality, trial.policy) == (SMALL, "zipf", "capacity")]
    assert [trial.policy for trial in parallel] == ["capacity", own]
    assert parallel[0].score == alone.score


@pytest.mark.parametrize("name", ESTIMATES)
def test_every_estimate_can_be_crawled_by(name: str) -> None:
    """What the crawler believes may be wrong; it collects everything in the end."""
    [trial] = run(Experiment((SyntheticSpec(5, 60),), policies=("breadth-first",), knowledge=Knowledge(name)))
    assert trial.outcome.gathered == pytest.approx(1)


def test_knowing_helps() -> None:
    """The true quality is worth more than a wrong one, and more than none."""
    plan = replace(SMALL_EXPERIMENT, qualities=("zipf",), policies=("prefix",))
    known = (Knowledge(), Knowledge(error=2.0), Knowledge("constant"))
    gaps = [np.mean([trial.score["gap"] for trial in run(replace(plan, knowledge=each))]) for each in known]
    assert gaps[0] > max(gaps[1:])


def test_qualities_to_collect(tmp_path: Path) -> None:
    """PageRank, Zipf dealt by seed, all alike, or scores by URL."""
    path = tmp_path / "scores.tsv"
    path.write_text("http://s0.test/0\t3\nhttp://s0.test/1\t1\nhttp://elsewhere.test/\t5\n")
    assert web_of(SMALL, "uniform").quality == pytest.approx(np.full(300, 1 / 300))
    assert web_of(SMALL, "zipf").quality.max() / web_of(SMALL, "zipf").quality.min() == pytest.approx(300)
    assert (web_of(SMALL, "zipf").quality != web_of(replace(SMALL, seed=2), "zipf").quality).any()
    scored = web_of(SMALL, f"scores:{path}").quality
    assert scored[:3] == pytest.approx([0.75, 0.25, 0])
    assert scored.sum() == pytest.approx(1)


def test_policies_by_name_and_by_path() -> None:
    """Anything else raises ValueError with the accepted forms."""
    assert policy_of("capacity") is CapacityBased
    assert policy_of(f"{__name__}.SlowestFirst") is SlowestFirst
    for wrong in ("fastest", "no.such.module", "os.path", f"{__name__}.Nothing", "crawlproject.frontier.Entry"):
        with pytest.raises(ValueError, match=r"must be (one of|a class with rank)"):
            policy_of(wrong)


@pytest.mark.long
def test_experiment_on_the_university_web() -> None:
    """UIC, at most 10 pages a host, 8 sessions: capacity and best prefix are ahead of breadth-first on every draw."""
    path = str(real("graphs/uic.graph.npz"))
    webs = tuple(GraphSpec(path, seed, per_server=10) for seed in (1, 2))
    trials = run(Experiment(webs, policies=("capacity", "prefix"), options=CrawlOptions(sessions=8)))
    assert all(trial.score["t80_breadth_first"] < 1 for trial in trials)
    assert {trial.ground.servers for trial in trials} == {trials[0].ground.servers}
