"""The log as JSON, one object a line (``LOG_FORMAT_JSON``)."""

from __future__ import annotations

import json
import logging
import time
from typing import TYPE_CHECKING

from scrapy.utils.log import get_scrapy_root_handler

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from crawlproject.options.monitor import MonitorOptions

#: Characters of a message and of a traceback.
MAX_TEXT = 20_000

#: Attributes of a record that become members: lists and objects that programs read.
EXTRAS = ("stats",)


class JsonFormatter(logging.Formatter):
    """``{"time": ..., "level": ..., "logger": ..., "message": ...}``, and ``exception`` if there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """One line; never raises for a record that the standard formatter accepts."""
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        found = {
            "time": f"{seconds}.{int(record.msecs):03d}Z",
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage()[:MAX_TEXT],
        }
        found |= {name: getattr(record, name) for name in EXTRAS if hasattr(record, name)}
        if record.exc_info:
            found["exception"] = self.formatException(record.exc_info)[-MAX_TEXT:]
        if record.stack_info:
            found["stack"] = record.stack_info[-MAX_TEXT:]
        return json.dumps(found, default=str, ensure_ascii=False)


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
    handler.setFormatter(JsonFormatter())
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
