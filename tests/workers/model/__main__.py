"""Try seeds: ``python -m tests.workers.model [--kind KIND] [--seeds FIRST:END] [--trace]``."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections import Counter

from tests.workers.model.runs import FAULTS, Run


def main() -> None:
    """Run all seeds of one kind, or of each."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", choices=FAULTS)
    parser.add_argument("--seeds", default="0:20")
    parser.add_argument("--trace", action="store_true")
    options = parser.parse_args()
    seeds = range(*map(int, options.seeds.split(":")))
    for kind in [options.kind] if options.kind else FAULTS:
        runs = [try_seed(kind, seed, is_traced=options.trace) for seed in seeds]
        faults = sum((run.counts for run in runs), start=Counter[str]())
        bad = [run for run in runs if run.errors]
        sys.stdout.write(f"{kind}: {len(runs) - len(bad)} of {len(runs)} well; {dict(faults)}\n")
        for run in bad:
            sys.stdout.write(f"    {run.seed}: {run.errors[0]:.300}\n")
        sys.stdout.flush()


def try_seed(kind: str, seed: int, *, is_traced: bool) -> Run:
    """The finished run; an exception is one of its errors."""
    run = Run(kind, seed)
    try:
        run.run()
    except Exception as error:  # noqa: BLE001 - whatever the code under test raises
        run.observer.error("".join(traceback.format_exception(error)[-2:]))
    if is_traced:
        sys.stdout.write("\n".join(run.simulation.trace) + "\n")
    return run


if __name__ == "__main__":
    main()
