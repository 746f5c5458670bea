"""The limits in force: those of the settings, and what the operator has put in their place while the crawl runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crawlproject.urls.wildcards import UrlPatterns

if TYPE_CHECKING:
    from collections.abc import Mapping

    from crawlproject.frontier.entry import Entry

#: Names of limits -> their meaning; 0: no limit. Pages and seconds are of a run.
LIMITS = {
    "pages": "Pages of this run",
    "time": "Seconds of this run",
    "depth": "Links from a seed, at most",
    "server": "Pages per server",
    "domain": "Pages per domain",
}

#: Largest limit, and most patterns of a kind.
MAX_LIMIT, MAX_PATTERNS = 10**12, 200

#: Priority of a URL that the operator wants now, whatever the patterns say.
ORDERED = 1 << 30

#: What becomes of the URLs of a pattern.
EXCLUDE, INCLUDE, RAISE, LOWER = KINDS = ("exclude", "include", "raise", "lower")

#: Priority by which URLs are known whose quality was changed, and the factor; 0: it was not.
FACTORS = {1 << 20: 10.0, -(1 << 19): 0.1, 0: 1.0}
PRIORITIES = dict(zip((RAISE, LOWER), FACTORS, strict=False))


class LiveLimits:
    """``settings``: limit -> value; a name of ``LIMITS`` that is missing has none."""

    def __init__(self, settings: Mapping[str, float]) -> None:
        self.settings = {name: settings.get(name, 0) for name in LIMITS}
        self._overrides: dict[str, int] = {}
        self._patterns: dict[str, tuple[list[str], UrlPatterns]] = {kind: ([], UrlPatterns(())) for kind in KINDS}
        #: Whether a URL may be refused, or ordered, by a pattern.
        self.has_patterns = False

    def __getitem__(self, name: str) -> float:
        """The limit in force; 0: none. O(1)."""
        return self._overrides.get(name, self.settings[name])

    def override(self, name: str, value: int | None) -> None:
        """Put ``value`` in the place of a setting; None: the setting counts again. O(1)."""
        if value is None:
            self._overrides.pop(name, None)
        else:
            self._overrides[name] = value

    def set_pattern(self, kind: str, pattern: str, *, on: bool) -> None:
        """Add a pattern of one of ``KINDS``, or remove it. Raises ValueError for a wrong one, or too many."""
        patterns = [each for each in self._patterns[kind][0] if each != pattern] + [pattern] * on
        if len(patterns) > MAX_PATTERNS:
            raise ValueError(f"at most {MAX_PATTERNS} patterns of a kind")
        self._patterns[kind] = (patterns, UrlPatterns(patterns))
        self.has_patterns = any(each for each, _ in self._patterns.values())

    def refuses(self, url: str, depth: int = 1) -> bool:
        """Whether the operator wants nothing of the canonical ``url``; "include" leaves seeds alone. O(length)."""
        included = self._patterns[INCLUDE][1]
        return self._patterns[EXCLUDE][1].match(url) or (depth > 0 and bool(included) and not included.match(url))

    def placed(self, entry: Entry) -> Entry:
        """``entry`` with the quality that the patterns give it; one with a priority of others stays. O(length)."""
        wanted = next((value for kind, value in PRIORITIES.items() if self._patterns[kind][1].match(entry.url)), 0)
        if entry.priority == wanted or entry.priority not in FACTORS:
            return entry
        return entry._replace(quality=entry.quality * FACTORS[wanted] / FACTORS[entry.priority], priority=wanted)


#: URLs that have nothing in common: what matches them matches every URL.
_PROBES = ("http://a.example/", "https://1.2.3.4:8443/d/e.f?g=h")


def is_everything(pattern: str) -> bool:
    """Whether ``pattern`` matches every URL. Raises ValueError for a wrong one. O(length)."""
    patterns = UrlPatterns([pattern])
    return all(map(patterns.match, _PROBES))


def as_pattern(text: str) -> str:
    """The pattern (``urls.wildcards``) that a person means: other text is looked for anywhere in the URL."""
    text = text.strip()
    return text if text.startswith(("/", "*", "http://", "https://", "re:")) else f"*{text}*"
