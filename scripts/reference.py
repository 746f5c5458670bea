#!/usr/bin/env python3
"""Writes docs/settings.md (from crawlproject/options/) and docs/stats.md (from crawlproject/monitor/stat_names.py).

A setting's meaning stands in the docstring of its family, as a line ``NAME: meaning``.
"""

import re
import sys
from inspect import cleandoc
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from scrapy.settings import default_settings

from crawlproject.monitor.stat_names import SECTIONS
from crawlproject.options.all_settings import DEFAULTS, FAMILIES

SETTINGS_START = """\
# Settings

<!-- Made by scripts/reference.py from crawlproject/options/. -->

```console
$ scrapy crawl web -a seeds=https://example.org -s FRONTIER_DELAY_FACTOR=10 -s FRONTIER_MAX_PAGES=100
```

Set these like any Scrapy setting: in `settings.py`, in `custom_settings`, or with `-s NAME=VALUE`. A wrong value or a
misspelt name stops the crawl at the start, with one line that names it.
"""

STATS_START = """\
# Stats

<!-- Made by scripts/reference.py from crawlproject/monitor/stat_names.py. -->

The log of a crawl ends with all of them. They are also in `FRONTIER_MONITOR_STATS_FILE`, Prometheus and the console
([watch](watch.md)). Scrapy's own stats are there, too. No name contains a host.

| question | stats |
|---|---|
| Why did it end? | `finish_reason` ([meanings](troubleshooting.md#why-a-crawl-ended)) |
| How much was fetched? | `frontier/pages`, `downloader/response_bytes`, `item_scraped_count` |
| What became of the URLs? | [`fates/…`](#what-became-of-urls): each URL seen is still queued, or counted once |
| What failed? | `fates/request/…`, `log_count/ERROR`; each try: `frontier/failures/…` |
| What is left? | `frontier/urls`, `frontier/servers` |
| Did the process keep up? | `monitor/lag/max`, `monitor/throttled`, `monitor/memory/max` |
| Why was a link not followed? | `fates/link/…`, `guard/…`, `duplicates/…` |
"""


def entries(text: str) -> list[tuple[str, str]]:
    """(names, meaning) of each line ``names: meaning``; an indented line continues the one before it."""
    lines = re.sub(r"\n +", " ", text).splitlines()
    return [(names, meaning) for names, colon, meaning in (line.partition(": ") for line in lines) if colon]


def meanings(family: type) -> list[tuple[str, str]]:
    """(setting, meaning) of the family, as its docstring declares them."""
    text = cleandoc(family.__doc__ or "")
    return [(name, meaning) for name, meaning in entries(text) if re.fullmatch(r"[A-Z_]+", name)]


def default(name: str, read: dict[str, object]) -> str:
    """In parentheses; empty where there is none."""
    value = getattr(default_settings, name, read.get(name, DEFAULTS.get(name)))
    return "" if value is None else f" (`{value}`)"


def settings() -> str:
    """The text of docs/settings.md."""
    parts = [SETTINGS_START]
    for family in FAMILIES:
        title = re.sub(r"(Options|Settings)$", "", family.__name__)
        lines = [f"- `{name}`{default(name, family.defaults())}: {text}" for name, text in meanings(family)]
        parts.append(f"\n## {title}\n\n" + "\n".join(lines) + "\n")
    return "".join(parts)


def stats() -> str:
    """The text of docs/stats.md."""
    parts = [STATS_START]
    for section in SECTIONS.split("## ")[1:]:
        title, _, text = section.partition("\n")
        rows = [(re.sub("[^, ]+", r"`\g<0>`", names), meaning) for names, meaning in entries(text)]
        parts.append(f"\n## {title}\n\n" + "".join(f"- {names}: {meaning}\n" for names, meaning in rows))
    return "".join(parts)


if __name__ == "__main__":
    (ROOT / "docs" / "settings.md").write_text(settings(), encoding="utf-8")
    (ROOT / "docs" / "stats.md").write_text(stats(), encoding="utf-8")
