"""A block that the operator undoes while the workers look for the end of the crawl."""

from dataclasses import replace
from typing import Any

import pytest

from crawlproject.workers.control import Control
from tests.workers.model.crawl import ModelCrawl
from tests.workers.model.runs import CRAWL, FAULTS, Run

ORDER = "block http://www.d1.com"


@pytest.mark.parametrize("moment", ["scan_all", "set_ended"])
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_the_end_waits_for_all_to_obey_the_last_order(moment: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Given before a look, and between the last look and the end: the model finds pages missing at a wrong end."""
    monkeypatch.setitem(FAULTS, "late orders", replace(FAULTS["none"], order=1e9))
    run = Run("late orders", seed)
    looked = []
    called = getattr(Control, moment)

    async def late(self: Control, *arguments: Any) -> Any:
        looked.append(moment)
        if len(looked) == (1 if moment == "set_ended" else 2):
            await self.order(CRAWL, ("late", '{"by":"","changes":{"' + ORDER + '":null}}', 1000), {ORDER: None})
        return await called(self, *arguments)

    monkeypatch.setattr(Control, moment, late)
    run.simulation.at(0.5, lambda: run._give({ORDER: "1"}))
    run.run()
    assert looked
    assert run.errors == []


def test_the_end_does_not_wait_for_workers_that_apply_no_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    """The extension that applies them is switched off there."""
    monkeypatch.setitem(FAULTS, "late orders", replace(FAULTS["none"], order=1e9))
    info = ModelCrawl.info
    monkeypatch.setattr(ModelCrawl, "info", lambda crawl: {**info(crawl), "actions": None})
    run = Run("late orders", 0)
    run.simulation.at(0.5, lambda: run._give({"delay http://www.d1.com": "1"}))
    run.run()
    assert run.errors == []
