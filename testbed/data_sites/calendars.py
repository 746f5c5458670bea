"""Calendars that have every month there ever was and will be, plain and with noise, some with events."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from functools import cache
from typing import NamedTuple

from testbed.data_sites import noise
from testbed.data_sites.beside import Answer, Trap, everywhere
from testbed.data_sites.layout import BUDGET, Noise
from testbed.data_sites.site import key, words

_FRENCH = "janvier février mars avril mai juin juillet août septembre octobre novembre décembre"
_CHINESE = "一月 二月 三月 四月 五月 六月 七月 八月 九月 十月 十一月 十二月"


@cache
def _shows(form: str, every: int) -> dict[str, str]:
    """The pages of months with an event, and those of the events."""
    months = (date(2014 + at // 12, at % 12 + 1, 1).strftime(form) for at in range(0, 120, every)) if every else ()
    return {month: f"/show/{key(6, month)}" for month in months}


class _Calendar(NamedTuple):
    """Periods at ``form``, and what they say if nothing happens."""

    kind: str
    form: str
    noise: Noise | None = None
    text: str = "No events."
    #: Days of a period; 30: a month.
    step: int = 30
    #: Names of the months.
    names: str = ""
    #: Where the days of a month are.
    days: str = ""
    #: One in so many months of ten years has an event; 0: none.
    events: int = 0

    def area(self, path: str) -> Answer:
        for form in filter(None, (self.form, self.days)):
            try:
                day = datetime.strptime(path, form).date()
            except ValueError:
                continue
            if day.strftime(form) == path and 1000 < day.year < 9990:
                return self._page(day, is_day=form == self.days)
        shows = _shows(self.form, self.events)
        return (words(2, path), f"<p>{words(20, 'show', path)}", []) if path in shows.values() else None

    def _page(self, day: date, is_day: bool) -> Answer:
        is_month = self.step == 30
        around = (
            (day.replace(day=1) - timedelta(1), day.replace(day=1) + timedelta(32))
            if is_month
            else (day - timedelta(self.step), day + timedelta(self.step))
        )
        links = [each.strftime(self.form) for each in around]
        shown = [day + timedelta(each) for each in range(min(self.step, 28))]
        if self.days and not is_day:
            links += [each.strftime(self.days) for each in shown]
        show = _shows(self.form, self.events).get(day.strftime(self.form))
        if show is not None:
            links.append(show)
        text = self.text if show is None else words(3, "title", show)
        month = self.names.split()[day.month - 1] if self.names else f"{day:%B}"
        title = f"{month} {day.year}" if is_month and not is_day else f"{day.day} {month} {day.year}"
        return title, f"<p>{' '.join(str(each.day) for each in shown)}</p><p>{text}</p>", links

    def trap(self) -> Trap:
        """Beside its site; the empty months between its events are the site's, but say nothing."""
        door = date(2018 if self.events else 2024, 1, 1).strftime(self.form)
        shows = _shows(self.form, self.events)
        gaps = 120 - len(shows) if shows else 0
        real = frozenset([*shows, *shows.values()])
        kind = f"a calendar without end, {self.kind}"
        return Trap(kind, self.area, everywhere(door), BUDGET + gaps, self.noise, real=real)


CALENDARS = {
    "calendar": _Calendar("months by path", "/calendar/%Y/%m/"),
    "calendar-days": _Calendar(
        "months and days by parameter", "/cal?month=%m&year=%Y", days="/cal?day=%d&month=%m&year=%Y"
    ),
    "calendar-captcha": _Calendar("with a captcha", "/c/%Y-%m", noise.captcha),
    "calendar-made-in": _Calendar("with the time it took", "/ev?m=%Y%m", noise.made_in),
    "calendar-quotation": _Calendar("with quotations", "/q/%Y/%m", noise.quotation),
    "calendar-visitors": _Calendar("with counters", "/v/%Y%m.html", noise.visitors),
    "calendar-everything": _Calendar("with all noise", "/e/%Y/%m", noise.everything),
    "calendar-weeks": _Calendar("by weeks", "/week/%Y-%m-%d", None, "Free.", 7),
    "calendar-slots": _Calendar("days to book", "/book?d=%Y-%m-%d", noise.secrets, "9:00 free 10:00 free", 1),
    "calendar-french": _Calendar("in French", "/agenda/%m-%Y", None, "Aucun événement.", names=_FRENCH),
    "calendar-chinese": _Calendar("in Chinese", "/rili/%Y/%m", noise.made_in, "没有活动", names=_CHINESE),
    "calendar-events": _Calendar("events in each month of ten years", "/shows/%Y-%m/", events=1),
    "calendar-sparse": _Calendar("events in one month of six", "/shows?m=%Y-%m", noise.quotation, events=6),
    "calendar-gap": _Calendar("events in one month of 30", "/shows/%Y/%m.html", events=30),
}
