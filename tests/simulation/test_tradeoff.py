"""The picture of quality and seconds by choosiness."""

from functools import partial
from xml.etree import ElementTree

import pytest

from crawlproject.frontier.budgets import Limits
from crawlproject.simulation.crawl import CrawlOptions
from crawlproject.simulation.experiment import Experiment, outcomes, run
from crawlproject.simulation.synthetic import SyntheticSpec
from crawlproject.simulation.tradeoff import CHOOSINESS, Line, lines, svg


def test_a_line_has_a_point_for_each_choosiness() -> None:
    """Means over the webs; that of the usual one is what the table has."""
    webs = SyntheticSpec(20, 300), SyntheticSpec(20, 300, seed=2)
    plan = Experiment(webs, ("pagerank",), ("prefix", "capacity"), CrawlOptions(4, limits=Limits(pages=60)))
    trials = run(plan)
    found = lines(trials, plan.options, partial(outcomes, knowledge=plan.knowledge))
    assert [line.name for line in found["pagerank"]] == ["prefix", "capacity"]
    prefix, capacity = found["pagerank"]
    of_table = [trial.outcome.gathered for trial in trials if trial.policy == "prefix"]
    assert prefix.points[CHOOSINESS.index(10.0)][1] == pytest.approx(sum(of_table) / 2)
    assert len({*capacity.points}) == 1  # it has no prices
    assert all(share <= line.most for line in (prefix, capacity) for _, share in line.points)


@pytest.mark.parametrize("seconds", [0.0, 1e-9, 0.07, 19.0, 1e7])
def test_the_picture_is_well_formed_whatever_the_numbers(seconds: float) -> None:
    """Names are escaped; everything lies within the picture."""
    line = Line("<b>&", [(seconds * step, 0.2 * step) for step in range(len(CHOOSINESS))], 1.0)
    picture = ElementTree.fromstring(svg({"scores:a<b": [line], "zipf": [line] * 9}))
    width, height = (float(picture.attrib[name]) for name in ("width", "height"))
    places = [(float(each.attrib["cx"]), float(each.attrib["cy"])) for each in picture.iter() if "cx" in each.attrib]
    assert len(places) == 10 * len(CHOOSINESS)
    assert all(0 <= x <= width and 0 <= y <= height for x, y in places)
    assert "<b>&" in [each.text for each in picture.iter()]
