"""A trap beside real pages: both have the same frame, noise and links into the trap."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count
from typing import NamedTuple

from testbed.data_sites.frame import frame
from testbed.data_sites.layout import BUDGET, Layout, Noise, Pages
from testbed.data_sites.registry import record_of
from testbed.data_sites.site import Site, items, link

#: Title, HTML and links of a page of the trap; another path that is shown here; REDIRECT or PLAIN and more; nothing.
Answer = tuple[str, str, list[str]] | str | None
#: The trap's answer at a path.
Area = Callable[[str], Answer]
#: Links into the trap from the page at a path.
Doors = Callable[[str], list[str]]

#: Kinds of real parts: address, record, fields of the layout.
_PARTS: tuple[tuple[str, str, dict[str, object]], ...] = (
    ("/a/{word}", "[4 words] :: <p>[50 words]", {"lists": "/all/page/{}"}),
    ("/read/{n}.html", "[date] :: {6*<p>[0-99], [0.0-9.9]}", {}),
    ("/i/{key:.10}", "[#8] :: <pre>[#40]</pre>", {"others": 3, "chain": False}),
    ("/{day:%Y/%m/%d}/note", "Note [n] :: <p>[7 member/25]", {"folders": ("/{day:%Y/%m}/",)}),
    ("/{group}/{n}", "[2 words] :: <p>[time], [red|blue] [30 words]", {"folders": ("/{group}/",), "chain": False}),
)


class Trap(NamedTuple):
    """A trap, and how the real pages lead into it."""

    kind: str
    area: Area
    doors: Doors
    budget: int = BUDGET
    noise: Noise | None = None
    is_maze: bool = False
    #: Pages of the area that are real.
    real: frozenset[str] = frozenset()
    #: Which kind of real part it has; by its place in the table otherwise.
    part: int | None = None


def real_part(site: str, at: int) -> Pages:
    """160 real pages of one of five kinds."""
    address, template, fields = _PARTS[at % len(_PARTS)]
    return Pages(site, record_of(site, template), Layout(address, 160, **fields))  # type: ignore[arg-type]


def beside(site: str, at: int, trap: Trap) -> Site:
    """The site of a trap; its real part is the kind ``at``."""
    pages, shape, requests = real_part(site, at if trap.part is None else trap.part), frame(site), count(1)
    real = pages.real()

    def render(path: str, noise: str) -> str | None:
        answer = trap.area(path) if path not in real else None
        if isinstance(answer, tuple):
            title, body, links = answer
            return shape.page(title, body, items(link(each, _label(each)) for each in links), noise)
        if answer is not None and not answer.startswith("/"):
            return answer
        doors = items(link(each, _label(each)) for each in trap.doors(path))
        return pages.render(answer or path, doors + noise)

    def quiet(path: str) -> str | None:
        return render(path, "")

    def noisy(path: str) -> str | None:
        assert trap.noise is not None
        return render(path, trap.noise(next(requests)))

    return Site(
        quiet if trap.noise is None else noisy,
        real | trap.real,
        trap.budget,
        trap.kind,
        quiet,
        is_endless=True,
        is_maze=trap.is_maze,
    )


def _label(path: str) -> str:
    return " ".join(re.findall(r"\w+", path)[-3:]) or "Home"


def at_home(*links: str) -> Doors:
    """Links on the home page."""
    return lambda path: list(links) if path == "/" else []


def everywhere(*links: str) -> Doors:
    """Links on each page."""
    return lambda path: list(links)
