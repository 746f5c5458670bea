"""The docs name every setting and every stat, and nothing that is not there."""

import re
from pathlib import Path
from typing import Any

import pytest
from scrapy.settings import default_settings

from crawlproject.options.all_settings import DEFAULTS, OTHERS, PREFIXES
from crawlproject.options.presets import PRESETS
from crawlproject.spiders.web import ARGUMENTS, LIMITS

ROOT = Path(__file__).resolve().parents[1]
SOURCES = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "crawlproject").rglob("*.py"))
SETTINGS = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
STATS = (ROOT / "docs" / "stats.md").read_text(encoding="utf-8")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "tests").rglob("README.md"))]


@pytest.mark.parametrize("name", DEFAULTS)
def test_every_setting_is_documented_with_its_default(name: str) -> None:
    """A row in docs/settings.md, with the default that the table has."""
    row = re.search(rf"^\| `{name}` \|\s*`?(.*?)`?\s*\|", SETTINGS, re.MULTILINE)
    assert row, name
    assert row[1] == ("" if DEFAULTS[name] is None else str(DEFAULTS[name]))


def test_documented_settings_exist() -> None:
    """No row for a setting that nothing reads."""
    prefixes = "|".join((*PREFIXES, "DNS"))
    for name in re.findall(rf"^\| `((?:{prefixes})\w+)`", SETTINGS, re.MULTILINE):
        assert f'"{name}"' in SOURCES, name


def test_every_setting_that_the_code_reads_is_in_the_table() -> None:
    """By its prefix: so a misspelling of it is noticed."""
    read = set(re.findall(rf'"((?:{"|".join(PREFIXES)})[A-Z_]+)"', SOURCES))
    assert len(read) > 70
    own = {name for name in read if not hasattr(default_settings, name)}
    assert own - set(DEFAULTS) - OTHERS == set()


def test_limits_are_documented_as_arguments_and_settings() -> None:
    """Each argument of ``web`` beside its setting in docs/limits.md, or in README."""
    limits = (ROOT / "docs" / "limits.md").read_text(encoding="utf-8")
    for argument, (setting, _) in LIMITS.items():
        assert re.search(rf"^\|[^|]*\| `{argument}=.*\| `{setting}`", limits, re.MULTILINE), argument
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    for argument in set(ARGUMENTS) - set(LIMITS):
        assert f"`-a {argument}=" in readme, argument


def test_presets_are_documented() -> None:
    """The table in docs/settings.md has what each preset sets, and the defaults for what it does not."""
    table = SETTINGS.split("### Presets")[1].split("\n\n")[2].splitlines()
    names = re.findall(r"`([a-z-]+)`", table[0])
    assert set(names) == set(PRESETS)
    rows = {row.split("`")[1]: [cell.strip(" `") for cell in row.split("|")[2:-1]] for row in table[2:]}
    assert rows.keys() == {setting for preset in PRESETS.values() for setting in preset}
    for setting, cells in rows.items():
        for name, cell in zip(names, cells, strict=True):
            value = PRESETS[name].get(setting, DEFAULTS[setting])
            assert cell == (value if isinstance(value, str) else f"{value:g}"), (setting, name)


def test_every_stat_is_documented() -> None:
    """Each literal name of a stat in the sources stands in docs/stats.md."""
    prefixes = "frontier|repository|seen|duplicates|web|dns|guard|redirect|charset|httpcompression|robotstxt|monitor"
    names = set(re.findall(rf'"((?:{prefixes})/[a-z_/]+[a-z_])"', SOURCES))
    assert len(names) > 10
    for name in names:
        assert f"`{name}`" in STATS or f"`…/{name.rsplit('/', 1)[1]}`" in STATS, name


def test_links_between_the_docs_lead_somewhere() -> None:
    """No dead link."""
    for page in PAGES:
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_scripts_named_in_the_docs_exist() -> None:
    """A reader can run what is named."""
    for page in PAGES:
        for script in re.findall(r"scripts/[a-z0-9_]+(?:\.py)?", page.read_text(encoding="utf-8")):
            assert (ROOT / script).exists(), f"{page.name}: {script}"


def test_example_of_a_crawl_test_passes() -> None:
    """The one in tests/README.md."""
    guide = (ROOT / "tests" / "README.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    exec(guide.split("```python\n")[1].split("```")[0], names)
    names["test_broken_page_costs_no_other"]()
