#!/usr/bin/env python3
"""Counts the pages that RENDER=auto would render, in folders of HTML files such as those of scripts/real_web.py.

scripts/render_alarms.py DIR [DIR ...]
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from crawlproject.download.rendering.need import reason_to_render

#: Pages printed of each folder.
SHOWN = 10


def main(folders: list[str]) -> None:
    if not folders or folders[0].startswith("-"):
        sys.exit(__doc__)
    for folder in folders:
        found: dict[Path, str] = {}
        pages = with_scripts = 0
        seconds = 0.0
        for path in sorted(each for each in Path(folder).rglob("*.htm*") if each.is_file()):
            body = path.read_bytes()
            pages += 1
            with_scripts += b"<script" in body.lower()
            started = time.process_time()
            reason = reason_to_render(body)
            seconds += time.process_time() - started
            if reason is not None:
                found[path] = reason
        share, cost = len(found) / max(1, pages), seconds / max(1, pages)
        reasons = dict(Counter(found.values()))
        print(f"{folder}: {pages} pages, {with_scripts} with scripts; rendered {len(found)} ({share:.3%}) {reasons}")
        print(f"    {cost * 1e3:.2f} ms of CPU per page")
        for path, reason in list(found.items())[:SHOWN]:
            print(f"    {reason}: {path}")


if __name__ == "__main__":
    main(sys.argv[1:])
