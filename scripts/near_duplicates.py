"""Near-duplicates among real pages: how many are found, what is missed, and pairs to be read by a person.

python scripts/near_duplicates.py DIR                # all *.html below DIR, for instance one that real_web.py set up
python scripts/near_duplicates.py DIR --pairs 100    # also 100 pairs, drawn by --seed, with what differs in each
python scripts/near_duplicates.py DIR --per-site 800 --pairs 40 --pairs-per-site 5 --no-recall  # a folder for each site

Pages come in an order drawn by ``--seed``; those with the bytes of an earlier one are left out.  Recall is measured
against the true Jaccard coefficient of all pairs, found by an index of rare shingles (prefix filtering, Chaudhuri,
Ganti and Kaushik 2006), not by sketches.
"""

import argparse
import difflib
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from random import Random

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from crawlproject.content import NearDuplicates, PageSketch
from crawlproject.content.shingles import jaccard, shingle_hashes, word_hashes
from crawlproject.options.all_settings import DEFAULTS
from crawlproject.seen import bytes_fingerprint
from crawlproject.urls import PageLinks, extract

MOST_BYTES = 3_000_000


@dataclass
class Page:
    """A page long enough to be judged."""

    path: Path
    sketch: PageSketch
    shingles: np.ndarray  # distinct ones, sorted

    def says_the_same(self, other: "Page") -> bool:
        """Whether title and first words, or all words, are those of another page."""
        one, two = self.sketch, other.sketch
        same_title = one.title == two.title or 0 in (one.title, two.title)
        return (one.heading == two.heading != 0) or (one.text == two.text and same_title)


def main() -> None:
    """Measure, and print pairs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("dir", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threshold", type=float, default=DEFAULTS["DUPLICATES_THRESHOLD"])
    parser.add_argument("--pairs", type=int, default=0)
    parser.add_argument("--differing", action="store_true", help="draw only pairs whose texts are not the same")
    parser.add_argument("--per-site", type=int, default=0, help="pages drawn of each folder in DIR; 0: all")
    parser.add_argument("--pairs-per-site", type=int, default=0, help="most pairs of one folder in DIR; 0: all")
    parser.add_argument("--no-recall", action="store_true", help="do not look for what is missed: it takes long")
    options = parser.parse_args()
    random = Random(options.seed)
    counts: dict[str, int] = defaultdict(int)
    pages = list(read_pages(options.dir, random, counts, options.per_site))
    found = find(pages, options.threshold)
    print(", ".join(f"{count} {name}" for name, count in counts.items()), f"{len(pages)} judged", sep=", ")
    identical = sum(pages[a].sketch.text == pages[b].sketch.text for b, a in found.items())
    print(f"{len(found)} near-duplicates found, {identical} of them with the same text")
    if not options.no_recall:
        report_recall(pages, found, options.threshold)
    drawn = [
        b for b, a in sorted(found.items()) if not options.differing or pages[a].sketch.text != pages[b].sketch.text
    ]
    random.shuffle(drawn)
    if options.pairs_per_site:
        drawn = few_of_each(drawn, lambda later: site_of(pages[later].path, options.dir), options.pairs_per_site)
    for number, later in enumerate(drawn[: options.pairs], 1):
        show(number, pages[found[later]], pages[later], options.dir)


def read_pages(directory: Path, random: Random, counts: dict[str, int], per_site: int = 0) -> Iterator[Page]:
    """The distinct pages below ``directory``, shuffled; ``per_site``: how many at most of each folder in it."""
    files = sorted(path for path in directory.rglob("*.htm*") if path.is_file() and not path.is_symlink())
    random.shuffle(files)
    left = defaultdict(lambda: per_site or len(files))
    contents = set()
    for path in files:
        site = site_of(path, directory)
        left[site] -= 1
        if left[site] < 0:
            continue
        body = path.read_bytes()
        key = bytes_fingerprint(body)
        if key in contents or len(body) > MOST_BYTES:
            counts["exact duplicates" if key in contents else "too large"] += 1
            continue
        contents.add(key)
        read = read_file(path)
        text = read.text or ""
        sketch = PageSketch.of(read.title, text, read.pictures)
        if sketch is None:
            counts["short"] += 1
        else:
            yield Page(path, sketch, np.unique(shingle_hashes(word_hashes(text))))


def site_of(path: Path, directory: Path) -> str:
    """The folder of ``directory`` that a page is in."""
    return path.relative_to(directory).parts[0]


def few_of_each(numbers: list[int], kind: Callable[[int], str], most: int) -> list[int]:
    """The first ``most`` of each kind."""
    left: dict[str, int] = defaultdict(lambda: most)
    kept = []
    for number in numbers:
        left[kind(number)] -= 1
        if left[kind(number)] >= 0:
            kept.append(number)
    return kept


def read_file(path: Path) -> PageLinks:
    """Title, visible text and pictures of a page."""
    return extract(path.read_bytes().decode("utf-8", "replace"), path.as_uri(), with_text=True)


def find(pages: list[Page], threshold: float) -> dict[int, int]:
    """Each near-duplicate and the page it is one of, as the crawl finds them."""
    near = NearDuplicates(len(pages) + 1, threshold)
    firsts = ((number, near.first_like(str(number), page.sketch)) for number, page in enumerate(pages))
    return {number: int(first) for number, first in firsts if first is not None}


def report_recall(pages: list[Page], found: dict[int, int], threshold: float) -> None:
    """Print how many of the pages that have a truly similar one before them were found."""
    similar: dict[int, list[int]] = defaultdict(list)
    for one, other in similar_pairs(pages, threshold):
        similar[max(one, other)].append(min(one, other))
    same = {n for n, firsts in similar.items() if any(pages[n].says_the_same(pages[first]) for first in firsts)}
    truth = [jaccard(pages[one].shingles, pages[other].shingles) for one, other in found.items()]
    print(f"{len(similar)} pages have an earlier one of true Jaccard coefficient >= {threshold}")
    print(f"{len(same)} of these also say that they are the same page; found: {len(same & found.keys())}")
    for least in (threshold, threshold - 0.02, threshold - 0.05):
        print(f"true coefficient >= {least:.2f}: {sum(value >= least for value in truth)} of those found")


def similar_pairs(pages: list[Page], threshold: float) -> Iterator[tuple[int, int]]:
    """All pairs of pages with a Jaccard coefficient of at least ``threshold``: they share a rare shingle."""
    hashes, frequencies = np.unique(np.concatenate([page.shingles for page in pages]), return_counts=True)
    index: dict[int, list[int]] = defaultdict(list)
    for number in sorted(range(len(pages)), key=lambda number: len(pages[number].shingles)):
        shingles = pages[number].shingles
        rarest_first = np.lexsort((shingles, frequencies[np.searchsorted(hashes, shingles)]))
        met = set()
        for key in shingles[rarest_first[: len(shingles) - ceil(threshold * len(shingles)) + 1]].tolist():
            met.update(index[key])
            index[key].append(number)
        for other in met:
            if jaccard(shingles, pages[other].shingles) >= threshold:
                yield number, other


def show(number: int, first: Page, later: Page, directory: Path) -> None:
    """Print two pages' places and what differs in their words."""
    read = [read_file(page.path) for page in (first, later)]
    texts = [(page.text or "").split() for page in read]
    print(
        f"\n{number}. Jaccard {jaccard(first.shingles, later.shingles):.3f}, {len(texts[0])} and {len(texts[1])} words"
    )
    print(f"   {first.path.relative_to(directory)}\n   {later.path.relative_to(directory)}")
    for name, values in (("title", [page.title for page in read]), ("pictures", [page.pictures for page in read])):
        if values[0] != values[1]:
            print(f"   {name}: -[{values[0]}] +[{values[1]}]"[:400])
    matcher = difflib.SequenceMatcher(None, *texts, autojunk=len(texts[0]) > 5000)
    for kind, a, b, c, d in matcher.get_opcodes():
        if kind != "equal":
            print(f"   at word {a}: -[{' '.join(texts[0][a:b])[:200]}] +[{' '.join(texts[1][c:d])[:200]}]")


if __name__ == "__main__":
    main()
