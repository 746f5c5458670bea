"""Generated web sites of data, and traps with real pages beside them.

``sites()`` has them all; ``python -m testbed.data_sites`` serves them on loopback.  A site is made of seeds: what a
page shows depends on its path alone, but for noise (counters, captchas), which depends on the number of the request.
``nature``, ``people``, ``codes``, ``texts`` and ``ends`` have a function per kind of data; ``layout`` places the records
of a kind and links them, ``frame`` puts menus and footers around them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from testbed.data_sites import codes, ends, nature, people, texts
from testbed.data_sites.registry import noted
from testbed.data_sites.site import PLAIN, REDIRECT

if TYPE_CHECKING:
    from testbed.data_sites.site import Site


def real_sites() -> dict[str, Site]:
    """Sites all of whose pages are worth a visit, but for empty ones that some have."""
    return noted()


def sites() -> dict[str, Site]:
    """All sites by name."""
    return real_sites()
