"""What the guard knows of one server: its patterns, the parts of its addresses that are idle, what was dropped."""

from __future__ import annotations

from typing import Any, ClassVar

from crawlproject.frontier.guard.idle_parts import IdleParts
from crawlproject.frontier.guard.patterns import MAX_PATTERNS, GuardLimits, Pattern, is_doubted, product_of
from crawlproject.frontier.state import Stored

#: Scripts per server whose combinations of parameters are counted.
MAX_PRODUCTS = 16


class ServerGuard(Stored):
    """A server's watched patterns, its idle parts, and the number of refused URLs."""

    STATE = ("closed", "products", "refused", "spent", "vain", "vain_in_a_row", "versions", "waiting")
    PARTS: ClassVar = {"idle_parts": IdleParts}
    __slots__ = (*STATE, *PARTS, "patterns")

    def __init__(self) -> None:
        self.patterns: dict[str, Pattern] = {}
        #: Pattern -> its pages that are closed to robots (neither to index nor to follow); 0: not all of them are.
        self.closed: dict[str, int] = {}
        self.refused = 0
        self.vain = 0  # pages without news of endless patterns that never showed any
        self.vain_in_a_row = 0  # waiting pages without news since the last one with some
        self.versions = 0  # waiting pages that are known under another address
        self.waiting = 0  # queued URLs that wait until all others are fetched; the frontier counts them
        self.spent: list[str] = []  # dropped patterns
        self.idle_parts = IdleParts()
        self.products: dict[str, list[str]] = {}  # script -> some combinations of parameters that its pages had

    def to_state(self) -> dict[str, Any]:
        return super().to_state() | {"patterns": [pattern.to_state() for pattern in self.patterns.values()]}

    def restore(self, state: Any) -> None:
        super().restore(state)
        patterns = map(Pattern.from_state, state["patterns"])
        self.patterns = {pattern.name: pattern for pattern in patterns}

    def watch(self, name: str) -> Pattern:
        """The pattern ``name``, watched from now on. O(1), O(MAX_PATTERNS) if another pattern is evicted for it."""
        pattern = self.patterns.get(name)
        if pattern is None:
            if len(self.patterns) >= MAX_PATTERNS:
                del self.patterns[min(self.patterns, key=self._evidence)]
            pattern = self.patterns[name] = Pattern(name)
        return pattern

    def product_of(self, name: str) -> str | None:
        """The script of ``name`` if pages of several combinations of its parameters were seen. O(1)."""
        script = product_of(name)
        if script is None or script == name:
            return script
        names = self.products.get(script)
        if names is None:
            if len(self.products) >= MAX_PRODUCTS:
                return None
            names = self.products[script] = []
        if name not in names and len(names) < GuardLimits.PRODUCT_FROM:
            names.append(name)
        return script if len(names) >= GuardLimits.PRODUCT_FROM else None

    def judging(self, name: str) -> Pattern | None:
        """The pattern ``name``, or the product that it belongs to: in it its pages are compared. O(1)."""
        script = product_of(name)
        is_product = script is not None and len(self.products.get(script, ())) >= GuardLimits.PRODUCT_FROM
        return self.patterns.get(script if script is not None and is_product else name)

    def waits(self, name: str) -> bool:
        """Whether URLs of the pattern ``name`` wait wherever they are found.

        So they do if it is dropped, if its pages are closed to robots, and if it is doubted and not yet cleared.
        """
        pattern = self.patterns.get(name)
        is_cleared = pattern is not None and pattern.is_cleared()
        return name in self.spent or self.is_closed(name) or (is_doubted(name) and not is_cleared)

    def count_closed(self, name: str) -> bool:
        """Count a page of ``name`` that is closed to robots; returns whether its URLs wait from now on.

        O(1), O(MAX_PATTERNS) if another pattern is forgotten for it.
        """
        if name not in self.closed and len(self.closed) >= MAX_PATTERNS:
            del self.closed[min(self.closed, key=self.closed.__getitem__)]
        if self.closed.get(name) != 0:
            self.closed[name] = self.closed.get(name, 0) + 1
        return self.closed[name] == GuardLimits.CLOSED_FROM

    def count_open(self, name: str) -> None:
        """Count a page of the pattern ``name`` that is open to robots. O(1)."""
        if name in self.closed:
            self.closed[name] = 0

    def is_closed(self, name: str) -> bool:
        """Whether all pages of the pattern ``name``, and enough of them, were closed to robots. O(1)."""
        return bool(self.closed) and self.closed.get(name, 0) >= GuardLimits.CLOSED_FROM

    def spend(self, name: str) -> bool:
        """Drop the pattern ``name``; returns False if it was dropped already. O(1)."""
        is_new = name not in self.spent
        if is_new:
            self.spent = [*self.spent, name][-MAX_PATTERNS:]
        return is_new

    def revive(self, name: str) -> None:
        """Follow the pattern ``name`` again. O(1)."""
        if name in self.spent:
            self.spent = [each for each in self.spent if each != name]

    def _evidence(self, name: str) -> int:
        return self.patterns[name].own
