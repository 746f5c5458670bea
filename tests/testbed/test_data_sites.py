"""Generated sites of data: all their pages can be found, each is something of its own, and a path shows the same."""

from __future__ import annotations

import re
from collections import deque
from html import unescape

import pytest

from testbed.data_sites import PLAIN, REDIRECT, Site, real_sites

REAL = real_sites()
#: Pages beyond the real ones after which a walk of an endless site ends.
BEYOND = 400


def walk(site: Site, beyond: int = BEYOND) -> dict[str, str]:
    """Path -> answer, in the order of discovery, by all links of the same host; nothing is left out, nothing judged."""
    found: dict[str, str] = {}
    queue, seen = deque(["/"]), {"/"}
    missing = set(site.real)
    while queue and (missing or not site.is_endless) and len(found) < len(site.real) + site.budget + beyond:
        path = queue.popleft()
        page = site.render(path)
        if page is None:
            continue
        found[path] = page
        missing.discard(site.page_of(path))
        if not page.startswith((REDIRECT, PLAIN)):
            for target in re.findall('href="([^"]*)"', page):
                target = unescape(target)
                if target not in seen:
                    seen.add(target)
                    queue.append(target)
    return found


@pytest.mark.parametrize("name", REAL)
def test_every_real_page_is_found_by_links(name: str) -> None:
    """From the home page; of a site with an end, there is nothing else."""
    site = REAL[name]
    found = set(walk(site))
    assert not site.real - found
    assert len(found) <= len(site.real) + site.budget + (BEYOND if site.is_endless else 0)


@pytest.mark.parametrize("name", REAL)
def test_every_real_page_is_unique(name: str) -> None:
    """Without noise and the targets of links, no two pages of a site are the same."""
    site = REAL[name]
    assert site.quiet is not None
    pages = [re.sub('href="[^"]*"', "", site.quiet(path) or "") for path in site.real]
    assert "" not in pages
    assert len(set(pages)) == len(pages)
