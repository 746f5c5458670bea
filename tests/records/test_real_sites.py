"""The rules in docs/rules on real documentation: at least 95% of the fields that an independent count finds.

A small sample of the pages is in tests/data/rules; the whole sites are read by a long test.
"""

import subprocess
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

import pytest

from crawlproject.records.reading import Source, read_page
from crawlproject.records.rule_file import read_site
from testbed import real_web
from testbed.rules import RULES, SITES, Site, localized, pages_of
from tests.records.independent_count import expected_records

#: Of the fields.
SHARE = 0.95


def compare(site: Site, web: Path | None) -> tuple[Counter[str], Counter[str], int]:
    """Fields expected, fields found as expected, records found."""
    rules = read_site(localized(RULES / f"{site.name}.toml", site.url), Path(f"{site.name}.toml"))
    expected: Counter[str] = Counter()
    found: Counter[str] = Counter()
    count = 0
    for url, body in pages_of(site, web):
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
    expected, found, count = compare(site, None)
    assert count >= 4
    assert {name: found[name] for name in expected} == dict(expected)


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The packages of all three sites, downloaded and unpacked by apt."""
    folder = tmp_path_factory.mktemp("web") / "web"
    try:
        return real_web.setup(folder, [site.package for site in SITES]).directory
    except (real_web.RealWebError, OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"the documentation packages cannot be downloaded by apt: {error}")


@pytest.mark.long
@pytest.mark.parametrize(("site", "records"), [*zip(SITES, (600, 200, 140), strict=True)])
def test_whole_site(site: Site, records: int, web: Path) -> None:
    """Each field by itself."""
    expected, found, count = compare(site, web)
    assert count >= records
    shares = {name: found[name] / number for name, number in expected.items()}
    assert min(shares.values()) >= SHARE, shares
