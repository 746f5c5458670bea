"""Parses ``meta["render"]``: whether to render, and which steps to take on the page."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from crawlproject.options.rendering import ALWAYS, MODES, NEVER

#: Steps of one page, characters of a step, and times to scroll.
MAX_STEPS = 20
MAX_STEP = 1000
MAX_SCROLLS = 100

_step = re.compile(r"(?:scroll(?: (?P<times>\d{1,3}))?|(?P<verb>click|wait) (?P<selector>\S.*))", re.DOTALL)


class Step(NamedTuple):
    """``scroll`` to the end up to ``times`` times, ``click`` or ``wait`` for the first element of a selector."""

    verb: str
    selector: str = ""
    times: int = 0


class Wish(NamedTuple):
    """The rendering that a request asks for; without a mode, the setting applies."""

    mode: str | None = None
    steps: tuple[Step, ...] = ()


def wish(value: Any) -> Wish:
    """The meaning of ``meta["render"]``: a mode, True, False, a list of steps, or a dict with ``mode`` and ``steps``.

    Steps ask for rendering unless a mode is given with them.  Raises ValueError for anything else.
    """
    if value is None:
        return Wish()
    if isinstance(value, bool):
        return Wish(ALWAYS if value else NEVER)
    if isinstance(value, str) and value in MODES:
        return Wish(value)
    if isinstance(value, (list, tuple)):
        return Wish(ALWAYS, _steps(value))
    if isinstance(value, dict) and set(value) <= {"mode", "steps"}:
        steps = _steps(value.get("steps") or ())
        inner = wish(value.get("mode"))
        return Wish(inner.mode or (ALWAYS if steps else None), steps)
    raise ValueError(f"render={value!r:.200}: must be one of {', '.join(MODES)}, a list of steps, or a dict of both")


def _steps(values: Any) -> tuple[Step, ...]:
    if not isinstance(values, (list, tuple)) or len(values) > MAX_STEPS:
        raise ValueError(f"render: steps={values!r:.200}: must be a list of at most {MAX_STEPS} steps")
    return tuple(map(_read, values))


def _read(value: Any) -> Step:
    text = value.strip() if isinstance(value, str) and len(value) <= MAX_STEP else ""
    found = _step.fullmatch(text)
    if found is None:
        raise ValueError(f"render: step {value!r:.200}: must be 'scroll', 'scroll N', 'click CSS' or 'wait CSS'")
    if found["verb"]:
        return Step(found["verb"], found["selector"])
    return Step("scroll", times=min(int(found["times"] or 10), MAX_SCROLLS))
