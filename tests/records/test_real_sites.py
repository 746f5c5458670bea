"""The rules in docs/rules on pages of real documentation (tests/data/rules).

`7d8bba60:tests/records/independent_count.py` counted the same fields by regular expressions, and in the whole sites at
least 95% of each.
"""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from crawlproject.records.reading import Source, read_page
from crawlproject.records.rule_file import read_site
from testbed.rules import RULES, SITES, Site, localized, pages_of

#: Field -> records that have it, and a record's values.
FOUND: dict[str, tuple[dict[str, int], dict[str, Any]]] = {
    "python": (
        {
            **{"chapter.title": 2, "chapter.next": 2, "chapter.sources": 2, "chapter.definitions": 2},
            **{"chapter.updated": 2, "module.name": 49, "module.page": 49, "module.synopsis": 48},
            **{"module.deprecated": 49, "module.platform": 2},
        },
        {"name": "__future__", "synopsis": "Future statement definitions", "deprecated": False, "platform": None},
    ),
    "postgresql": (
        {
            **{"command.title": 4, "command.purpose": 4, "command.synopsis": 4, "command.description": 4},
            **{"command.see_also": 3, "command.parameters": 3},
        },
        {"title": "dropuser", "purpose": "remove a PostgreSQL user account"},
    ),
    "git": (
        dict.fromkeys(
            (
                *("manual.name", "manual.section", "manual.purpose", "manual.synopsis", "manual.headings"),
                *("manual.options", "manual.updated"),
            ),
            5,
        ),
        {"name": "git-check-ref-format", "section": 1, "purpose": "Ensures that ..."},
    ),
}


@pytest.mark.parametrize("site", SITES, ids=lambda site: site.name)
def test_sample(site: Site) -> None:
    rules = read_site(localized(RULES / f"{site.name}.toml", site.url), Path(f"{site.name}.toml"))
    found: Counter[str] = Counter()
    rows = []
    for url, body in pages_of(site):
        for reading in read_page(Source(body.decode("utf-8", "replace"), url), rules.records_on(url)):
            for row in reading.rows:
                found.update(f"{reading.rule.name}.{name}" for name, value in row.items() if value not in (None, []))
                rows.append(row)
    fields, record = FOUND[site.name]
    assert found == fields
    assert any(all(row.get(name) == value for name, value in record.items()) for row in rows)
