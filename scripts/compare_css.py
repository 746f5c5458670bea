#!/usr/bin/env python3
"""Compares what plain CSS gives by the crawl's tree and by libxml2's, on folders of HTML files.

Any difference is a bug.

scripts/compare_css.py DIR [DIR ...] [--pages N] [--elements N]

Selectors are the tests' and, of each page, those made of some of its own elements, one by one and in rows.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from scrapy.http import HtmlResponse

from crawlproject.records.quick_css import quick_css
from testbed.css_ways import PLAIN, both_ways, own_selectors, rules_of

#: Differences printed of each folder.
SHOWN = 20


def main() -> int:
    """Print the numbers of each folder and its first differences; returns whether there are any."""
    parser = argparse.ArgumentParser(description="Plain CSS by both trees, on real pages.")
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--pages", type=int, help="of each folder, evenly chosen (default: all)")
    parser.add_argument("--elements", type=int, default=8, help="of a page of which selectors are made")
    options = parser.parse_args()
    return int(sum(compare(folder, options.pages, options.elements) for folder in options.folders) > 0)


def compare(folder: Path, wanted: int | None, elements: int) -> int:
    """Pages that differ."""
    paths = sorted(each for each in folder.rglob("*.htm*") if each.is_file())
    paths = paths[:: max(1, len(paths) // wanted)] if wanted else paths
    fixed = [*rules_of(PLAIN).records, *(rules_of((one,), "rows = 'li'").records[0] for one in ("b", "a::attr(href)"))]
    counts: Counter[str] = Counter()
    shown = 0
    for path in paths:
        text = HtmlResponse("http://web.example/", body=path.read_bytes()).text
        own = [one for one in own_selectors(text, elements) if quick_css(one) is not None]
        rules = [*fixed, *(rules_of((one,)).records[0] for one in own)]
        rules += [rules_of((one,), f"rows = '{own[0]}'").records[0] for one in own[:1] if "::" not in own[0]]
        differs = False
        for number, rule in enumerate(rules):
            found = both_ways(rule, text)
            counts["rules"] += 1
            counts["quick"] += found.is_quick
            if found.differ:
                differs = True
                if shown < SHOWN:
                    shown += 1
                    name = own[number - len(fixed)] if 0 <= number - len(fixed) < len(own) else f"rule {number}"
                    print(f"    {path}: {name}{where(found.quick, found.slow)}", flush=True)
        counts["pages"] += 1
        counts["differ"] += differs
    print(
        f"{folder}: {counts['pages']} pages, {counts['rules']} rules, {counts['quick'] / max(1, counts['rules']):.1%}"
        f" of them by the crawl's tree; {counts['differ']} pages differ",
        flush=True,
    )
    return counts["differ"]


def where(quick: object, slow: object) -> str:
    """The first difference."""
    one, other = repr(quick), repr(slow)
    place = next((n for n, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), 0)
    part = slice(max(0, place - 60), place + 80)
    return f"\n        quick ... {one[part]}\n        slow  ... {other[part]}"


if __name__ == "__main__":
    sys.exit(main())
