"""Compares segmenters of Chinese with a treebank: how many of its words each finds, and at what cost.

python scripts/topic_segmentation.py zh_gsdsimp-ud-test.conllu

The treebank is a CoNLL-U file, such as the test part of UD Chinese GSDSimp (CC BY-SA 4.0). rjieba, jieba and PyICU are
compared, as far as they are installed.
"""

import argparse
import logging
import sys
import time
from collections.abc import Callable, Iterator
from itertools import accumulate, pairwise
from pathlib import Path

Segmenter = Callable[[str], list[str]]


def sentences(path: Path) -> Iterator[list[str]]:
    """The words of each sentence of a CoNLL-U file."""
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        rows = [line.split("\t") for line in block.splitlines() if not line.startswith("#")]
        if words := [row[1] for row in rows if row[0].isdecimal()]:
            yield words


def segmenters() -> Iterator[tuple[str, Segmenter]]:
    """Those that are installed."""
    try:
        import jieba

        jieba.setLogLevel(logging.ERROR)
        yield "jieba", jieba.lcut
    except ImportError:
        print("jieba is not installed")
    try:
        import rjieba

        yield "rjieba", rjieba.cut
    except ImportError:
        print("rjieba is not installed")
    try:
        import icu

        breaks = icu.BreakIterator.createWordInstance(icu.Locale("zh"))

        def cut(text: str) -> list[str]:
            breaks.setText(text)
            return [text[start:end] for start, end in pairwise([0, *breaks])]

        yield f"ICU {icu.ICU_VERSION}", cut
    except ImportError:
        print("PyICU is not installed")


def spans(words: list[str]) -> set[tuple[int, int]]:
    """Where each word begins and ends."""
    return set(pairwise([0, *accumulate(map(len, words))]))


def main() -> int:
    """Print a row for each segmenter."""
    parser = argparse.ArgumentParser(description="Compare segmenters of Chinese with a treebank.")
    parser.add_argument("treebank", type=Path, help="a CoNLL-U file")
    truth = list(sentences(parser.parse_args().treebank))
    texts = ["".join(words) for words in truth]
    expected = sum(map(len, truth))
    characters = sum(map(len, texts))
    print(f"{characters} characters, {expected} words\n{'':10} precision recall    F1 us per character")
    for name, cut in segmenters():
        cut(texts[0])  # loads the dictionary
        start = time.process_time()
        found = [cut(text) for text in texts]
        seconds = time.process_time() - start
        hits = sum(len(spans(own) & spans(words)) for own, words in zip(found, truth, strict=True))
        precision, recall = hits / sum(map(len, found)), hits / expected
        f1 = 2 * precision * recall / (precision + recall)
        print(f"{name:10} {precision:9.3f} {recall:6.3f} {f1:5.3f} {1e6 * seconds / characters:16.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
