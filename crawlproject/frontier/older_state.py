"""Upgrades state of version 1 to version 2 (``snapshot.VERSION``).

Version 1 has the objects' attributes by name, including private ones; stores of formats 2 to 4 use it.
Attributes not named here are obsolete and dropped; older stores may lack some of the others.
"""

from __future__ import annotations

from typing import Any

#: Key of version 1 -> key of version 2, or (key of version 2, keys of the object stored under it).
Keys = dict[str, "str | tuple[str, Keys]"]

_same = {name: name for name in ("crawl_delay", "failures", "fetched", "given_up", "last_error", "ready_at")}
_same |= {name: name for name in ("copies", "demotion", "pages")}

_OBSERVED: Keys = {"n": "count", "total": "log_sum"}
_SERVER: Keys = {
    **_same,
    "guarded": "demoted_because",
    "estimates": (
        "estimates",
        {
            "connect_time": "connect_time",
            "response_time": "response_time",
            "requests_per_connection": "requests_per_connection",
            "persistent": "persistent",
            "keep_alive_time": "keep_alive_time",
            "connects": ("connects", _OBSERVED),
            "responses": ("responses", _OBSERVED),
        },
    ),
    "found": ("new_links", {"new": "new", "pages": "pages", "visits": "visits"}),
    "copy_run": ("copy_run", {"rows": "times"}),
    "shared": ("shared_pages", {"is_mirror": "is_mirror", "rows": "pages"}),
    "file_kinds": ("file_kinds", {"rows": "answers"}),
    "guard": (
        "guard",
        {
            "refused": "refused",
            "listed": "listed",
            "shown": "patterns",
            "spent": "dropped",
            "visit_ids": ("visit_ids", {"learned": "learned", "cleared": "cleared"}),
        },
    ),
}
_POPULATION: Keys = {
    "observations": "observations",
    "_servers": "servers",
    "_recent_mean": "recent_mean",
    "_means": "mean_sum",
    "_squares": "square_sum",
    "_inverse_counts": "inverse_count_sum",
    "_within": "within_sum",
}
_LEARNED: Keys = {
    "prior": (
        "prior",
        {
            "connect": ("connect", _POPULATION),
            "response": ("response", _POPULATION),
            "unmet": "unmet",
            "_next": "next_check",
        },
    ),
    "look_ahead": (
        "look_ahead",
        {
            "_buckets": "buckets",
            "_gain": "gain_sum",
            "_weight": "gain_weight",
            "_last": "checked_gain",
            "_pages": "pages_since_check",
        },
    ),
    "sitemaps": ("sitemaps", {"_gain": "gain_sum", "_weight": "gain_weight"}),
    "backlog": ("backlog", {"_gaps": "gap_sum", "_weight": "gap_weight", "_waiting": "waiting"}),
}
_FRONTIER: Keys = {"arrivals": "arrivals", "returns": "returns", "learned": ("learned", _LEARNED)}


def upgrade_frontier(old: dict[str, Any]) -> dict[str, Any]:
    """Convert state of version 1 to the form of ``snapshot.frontier_state``. O(1)."""
    return _renamed(old, _FRONTIER)


def upgrade_server(old: dict[str, Any]) -> dict[str, Any]:
    """Convert state of version 1 to the form of ``snapshot.server_state``. O(size)."""
    state = _renamed(old, _SERVER)
    for part, key in (("file_kinds", "answers"), ("shared_pages", "pages")):  # rows [key, value] in version 1
        if part in state and key in state[part]:
            state[part][key] = dict(state[part][key])
    return state


def _renamed(old: object, keys: Keys) -> dict[str, Any]:
    if not isinstance(old, dict):
        raise ValueError(f"{str(old)[:60]}: must be an object")
    state: dict[str, Any] = {}
    for name, target in keys.items():
        value = old.get(name)
        if value is None:
            continue
        if isinstance(target, str):
            state[target] = value
        else:
            key, inner = target
            state[key] = _renamed(value, inner)
    return state
