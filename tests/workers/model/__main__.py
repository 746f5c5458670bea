"""Try seeds: ``python -m tests.workers.model [--kind KIND] [--seeds FIRST:END] [--trace]``."""

from __future__ import annotations

import argparse
import time
import traceback
from collections import Counter

from tests.workers.model.runs import FAULTS, Run


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kind", choices=FAULTS)
    parser.add_argument("--seeds", default="0:20")
    parser.add_argument("--trace", action="store_true")
    options = parser.parse_args()
    first, end = map(int, options.seeds.split(":"))
    for kind in [options.kind] if options.kind else FAULTS:
        started, counts, bad, first_errors = time.process_time(), Counter[str](), [], []
        virtual = 0.0
        for seed in range(first, end):
            run = Run(kind, seed)
            try:
                run.run()
            except Exception as error:
                run.observer.error("".join(traceback.format_exception(error)[-2:]) if not options.trace else traceback.format_exc())
            counts += run.counts
            virtual += run.simulation.now
            if run.errors:
                bad.append(seed)
                first_errors.append((seed, run.errors[0][:300]))
            if options.trace:
                print(*run.simulation.trace, sep="\n")
        seconds = (time.process_time() - started) / (end - first)
        print(f"{kind:16}: {end - first - len(bad)} of {end - first} well; {seconds:.2f} s, {virtual / (end - first):.0f} s virtual;", dict(counts), "bad:", bad, flush=True)
        for seed, error in first_errors[:4]:
            print("      ", seed, error)


if __name__ == "__main__":
    main()
