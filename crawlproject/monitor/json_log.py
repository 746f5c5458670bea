"""The log as JSON, one object a line (``FRONTIER_LOG_JSON``)."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from pythonjsonlogger.core import RESERVED_ATTRS
from pythonjsonlogger.json import JsonFormatter
from scrapy.utils.log import get_scrapy_root_handler

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from crawlproject.options.monitor import MonitorOptions

#: Names of a record's attributes in the log. Others that somebody gave it, such as ``stats``, keep theirs.
_NAMES = {"levelname": "level", "name": "logger", "exc_info": "exception", "stack_info": "stack"}


def json_formatter() -> JsonFormatter:
    """``{"level": ..., "logger": ..., "message": ..., "time": ...}``, and ``exception`` if there is one."""
    return JsonFormatter(
        "{levelname}{name}{message}",
        style="{",
        timestamp="time",
        rename_fields=_NAMES,
        json_ensure_ascii=False,
        reserved_attrs=[*RESERVED_ATTRS, "spider"],
    )


def use_json(settings: BaseSettings, options: MonitorOptions) -> None:
    """Write the log as JSON where Scrapy would write it as text.

    Scrapy replaces its own handler several times at the start: ``LOG_ENABLED`` and ``LOG_FILE`` make these write
    nothing.  Does nothing if Scrapy does not log (``LOG_INSTALL_ROOT_HANDLER``) or is configured not to.
    """
    if any(isinstance(handler.formatter, JsonFormatter) for handler in logging.root.handlers):
        _silence(settings)
        return
    if not settings.getbool("LOG_ENABLED") and options.log_file is None:
        return
    handler: logging.Handler
    if options.log_file is not None:
        mode = "a" if settings.getbool("LOG_FILE_APPEND") or get_scrapy_root_handler() is not None else "w"
        handler = logging.FileHandler(options.log_file, mode, options.log_encoding)
    else:
        handler = logging.StreamHandler()
    handler.setFormatter(json_formatter())
    handler.setLevel(options.log_level)
    logging.root.setLevel(logging.NOTSET)
    logging.root.addHandler(handler)
    scrapys = get_scrapy_root_handler()
    if scrapys is not None:
        logging.root.removeHandler(scrapys)
    _silence(settings)


def _silence(settings: BaseSettings) -> None:
    settings.set("LOG_ENABLED", False, priority="cmdline")
    settings.set("LOG_FILE", None, priority="cmdline")
