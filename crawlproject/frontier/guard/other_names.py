"""Finds families of URLs that are other names of known pages, such as the permalinks of a forum's posts.

Two witnesses must agree.  The pages themselves declare another URL of their server as canonical, and their content is
that of a page of another family.  So a wrong canonical link (all pages name the home page, or one that does not exist;
page 2 of a list names page 1) is no evidence, and neither are pages that only look alike.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from crawlproject.urls.pattern import form_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from crawlproject.frontier.state import StateReader

#: Families watched per server; the one with the fewest pages is forgotten.
MAX_FAMILIES = 64


@dataclass(slots=True)
class Family:
    """Counts of pages of one family."""

    #: Pages that declare a URL of another family; copies of any page among them.
    declared: int = 0
    copies: int = 0
    #: Pages that are copies of a page of another family, and the reverse.
    confirmed: int = 0
    #: Pages that declare a new URL, and copies that lead to a new URL of another family.
    leading: int = 0
    #: Pages that declare themselves, or nothing.
    own: int = 0

    MIN_DECLARED: ClassVar[int] = 10
    MIN_CONFIRMED: ClassVar[int] = 5
    #: Share of the pages that may be exceptions.
    EXCEPTIONS: ClassVar[float] = 0.1

    @property
    def is_of_other_names(self) -> bool:
        """Whether its pages are known under other URLs, so that they may come last."""
        return (
            self.declared >= self.MIN_DECLARED
            and self.confirmed >= self.MIN_CONFIRMED
            and 2 * self.copies >= self.declared
            and self.own <= self.EXCEPTIONS * self.declared
            and self.leading <= self.EXCEPTIONS * self.declared
        )


class OtherNames:
    """The families of one server, by the form of their URLs (``urls.pattern.form_of``)."""

    __slots__ = ("_families", "_has_some")

    def __init__(self) -> None:
        self._families: dict[str, Family] = {}
        self._has_some = False  # some family is or was of other names

    def to_state(self) -> list[Any]:
        """As plain values: form and counts of each family."""
        return [[form, *astuple(family)] for form, family in self._families.items()]

    @classmethod
    def from_state(cls, state: StateReader) -> Self:
        """Inverse of ``to_state``; raises ValueError for anything else."""
        names = cls()
        for row in state.items("other_names"):
            match row:
                case [str() as form, *counts] if len(counts) == 5 and all(type(n) is int and n >= 0 for n in counts):
                    names._families[form] = Family(*counts)
                case _:
                    raise ValueError(f"other_names: must be a form and five counts each: {str(row)[:60]}")
        names._has_some = any(family.is_of_other_names for family in names._families.values())
        return names

    def __contains__(self, url: str) -> bool:
        """Whether the canonical ``url`` is of a family of other names. O(length), O(1) if there is none."""
        family = self._families.get(form_of(url)) if self._has_some else None
        return family is not None and family.is_of_other_names

    @property
    def copies(self) -> int:
        """Copies among the pages of families of other names. O(MAX_FAMILIES)."""
        return sum(family.copies for family in self._families.values() if family.is_of_other_names)

    def learn(self, url: str, canonical: str | None, first: str | None) -> bool:
        """Learn from the page at ``url``: the ``canonical`` URL that it declares, and the ``first`` page like it.

        Both on the same server.  Returns whether the family of ``url`` or of ``first`` has become one of other names.
        O(length), O(MAX_FAMILIES) if another family is forgotten.
        """
        form = form_of(url)
        target = form if canonical is None else form_of(canonical)
        like = form if first is None else form_of(first)
        declares = target != form and not self._declares(target)  # of two that name each other, one is the original
        if declares and form not in self._families:
            if len(self._families) >= MAX_FAMILIES:
                del self._families[min(self._families, key=lambda each: self._families[each].declared)]
            self._families[form] = Family()
        known = [family for each in {form, like} if (family := self._families.get(each)) is not None]
        before = [family.is_of_other_names for family in known]
        family = self._families.get(form)
        if family is not None:
            family.declared += declares
            family.own += target == form
            family.copies += declares and first is not None
        if like != form:
            for each in known:
                each.confirmed += 1
        has_more = any(family.is_of_other_names for family, was in zip(known, before, strict=True) if not was)
        self._has_some = self._has_some or has_more
        return has_more

    def learn_new(self, url: str, canonical: str | None, new: Sequence[str], *, is_copy: bool) -> None:
        """Learn that the page at ``url`` was the first to link to ``new``. O(length) each."""
        form = form_of(url)
        family = self._families.get(form)
        if family is None or not new:
            return
        family.leading += canonical in new or (is_copy and any(form_of(link) != form for link in new))

    @property
    def is_empty(self) -> bool:
        """Whether no page declared a URL of another family."""
        return not self._families

    def _declares(self, form: str) -> bool:
        family = self._families.get(form)
        return family is not None and family.own <= family.declared
