"""The limit on open files of the process (``ulimit -n``): each connection takes one."""

from __future__ import annotations

import resource
from contextlib import suppress

#: For everything but sessions: look-ups (two each), stores, feeds, logs, the console.
OTHERS = 600

#: What a crawl with few sessions needs at least.
FEW = 50

_UNLIMITED = resource.RLIM_INFINITY


def affordable_sessions(sessions: int) -> int:
    """The number of sessions, at most ``sessions``, for which there are enough files; raises the soft limit if needed.

    If the hard limit is too low, sessions get half of what is left.
    """
    limit, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = sessions + OTHERS
    if limit != _UNLIMITED and limit < needed:
        wanted = needed if hard == _UNLIMITED else min(needed, hard)
        with suppress(ValueError, OSError):  # macOS has a lower limit that is not told
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
            limit = wanted
    if limit == _UNLIMITED or limit >= needed:
        return sessions
    return max(1, min(sessions, (limit - FEW) // 2))
