"""The rules in docs/rules on pages of real documentation (tests/data/rules): all that an independent count finds."""

from collections import Counter
from pathlib import Path
from urllib.parse import unquote

import pytest

from crawlproject.records.reading import Source, read_page
from crawlproject.records.rule_file import read_site
from testbed.rules import RULES, SITES, Site, localized, pages_of
from tests.records.independent_count import expected_records


def compare(site: Site) -> tuple[Counter[str], Counter[str], int]:
    """Fields expected, fields found as expected, records found."""
    rules = read_site(localized(RULES / f"{site.name}.toml", site.url), Path(f"{site.name}.toml"))
    expected: Counter[str] = Counter()
    found: Counter[str] = Counter()
    count = 0
    for url, body in pages_of(site):
        text = body.decode("utf-8", "replace")
        readings = read_page(Source(text, url), rules.records_on(url))
        rows = [(reading.rule.name, row) for reading in readings for row in reading.rows]
        count += len(rows)
        wanted = expected_records(site.name, unquote(url.removeprefix(site.url)), text)
        assert len(rows) == len(wanted), url
        for (kind, row), fields in zip(rows, wanted, strict=True):
            for name, value in fields.items():
                expected[f"{kind}.{name}"] += 1
                is_right = row[name] not in (None, []) and (
                    value is None or (len(row[name]) == value if isinstance(row[name], list) else row[name] == value)
                )
                found[f"{kind}.{name}"] += is_right
    return expected, found, count


@pytest.mark.parametrize("site", SITES, ids=lambda site: site.name)
def test_sample(site: Site) -> None:
    expected, found, count = compare(site)
    assert count >= 4
    assert {name: found[name] for name in expected} == dict(expected)
