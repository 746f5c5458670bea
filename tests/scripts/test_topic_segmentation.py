"""``scripts/topic_segmentation.py`` on a treebank of two sentences."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from tests.processes import HUNG

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "topic_segmentation.py"
WORDS = (("我们", "喜欢", "北京", "。"), ("你好", "世界"))


def test_words_of_a_treebank_are_compared(tmp_path: Path) -> None:
    """Precision and recall by hand: rjieba finds all of these words."""
    blocks = ("".join(f"{number}\t{word}\t_\n" for number, word in enumerate(words, 1)) for words in WORDS)
    treebank = tmp_path / "two.conllu"
    treebank.write_text("# sent_id = 1\n1-2\t我们喜欢\t_\n" + "\n".join(blocks), encoding="utf-8")
    command = [sys.executable, str(SCRIPT), str(treebank)]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=HUNG, check=True).stdout
    assert shown.startswith("11 characters, 6 words\n") or "\n11 characters, 6 words\n" in shown
    assert re.search(r"^rjieba +1\.000 +1\.000 1\.000 ", shown, re.MULTILINE), shown
