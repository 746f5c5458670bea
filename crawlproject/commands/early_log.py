"""Applies settings of the log before Scrapy loads the add-on."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


def log_as_set(settings: BaseSettings) -> None:
    """Apply ``LOG_FORMAT_JSON``; a wrong value is reported later, by the add-on."""
    from crawlproject.options.monitor import MonitorOptions

    try:
        options = MonitorOptions.from_settings(settings)
    except ValueError:
        return
    if options.log_json:
        from crawlproject.monitor.json_log import use_json

        use_json(settings, options)
