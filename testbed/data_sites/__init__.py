"""Generated web sites of data, and traps with real pages beside them.

``sites()`` has them all; ``python -m testbed.data_sites`` serves them on loopback.  A site is made of seeds: what a
page shows depends on its path alone, but for noise (counters, captchas), which depends on the number of the request.
``nature``, ``people``, ``codes``, ``texts`` and ``ends`` note kinds of data in the ``registry``, most as ``templates``;
``layout`` places the records of a kind and links them, ``noise`` is what changes from request to request, ``frame``
has menus and footers.  Traps are put ``beside`` real parts: ``calendars``, ``variants`` of addresses, and ``areas``
without end.
"""

from __future__ import annotations

from testbed.data_sites import codes, ends, nature, people, texts
from testbed.data_sites.areas import AREAS
from testbed.data_sites.beside import beside
from testbed.data_sites.calendars import CALENDARS
from testbed.data_sites.registry import noted
from testbed.data_sites.site import PLAIN, REDIRECT, Site
from testbed.data_sites.variants import VARIANTS, with_tokens

__all__ = ["PLAIN", "REDIRECT", "Site", "real_sites", "sites", "traps"]


def real_sites() -> dict[str, Site]:
    """Sites all of whose pages are worth a visit, but for empty ones that some have."""
    return noted()


def traps() -> dict[str, Site]:
    """Sites with 160 real pages or more, and a trap."""
    calendars = {site: calendar.trap() for site, calendar in CALENDARS.items()}
    placed = enumerate({**calendars, **VARIANTS, **AREAS}.items())
    return {site: beside(site, at, trap) for at, (site, trap) in placed} | with_tokens()


def sites() -> dict[str, Site]:
    """All sites by name."""
    return {**real_sites(), **traps()}
