"""The settings ``REPOSITORY_*``: read here and nowhere else, checked once, passed on as values (docs/settings.md)."""

from __future__ import annotations

import re
import socket
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import scrapy
from scrapy.utils.job import job_dir

import crawlproject
from crawlproject.extras import needs_extra
from crawlproject.options.values import SettingValues

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from crawlproject.repository import RepositoryOptions

COMPRESSION_NAMES = ("gzip", "zstd")

DEFAULTS: dict[str, Any] = {
    # Off: a crawl for items does not need it, and it takes the pages' size on disk.
    "REPOSITORY_DIR": None,
    # What every tool reads, and with ISA-L the faster one; zstd saves 2% of the space (docs/repository.md).
    "REPOSITORY_COMPRESSION": "gzip",
    # What archives have: files large enough to be few, small enough to be copied (WARC 1.1, annex C).
    "REPOSITORY_FILE_SIZE": 1_000_000_000,
    # The spider's name.
    "REPOSITORY_PREFIX": None,
    "REPOSITORY_OPERATOR": None,
}

_is_prefix = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*").fullmatch


def repository_options(settings: BaseSettings, spider_name: str = "") -> RepositoryOptions | None:
    """Read and check; None where no repository is asked for. Raises ValueError naming setting, value and choices.

    The libraries that write a repository are imported only where one is asked for: they are an extra.
    """
    values = SettingValues(settings, DEFAULTS)
    compression = values.choice("REPOSITORY_COMPRESSION", COMPRESSION_NAMES)
    file_size = values.count("REPOSITORY_FILE_SIZE", least=1)
    prefix = values.value("REPOSITORY_PREFIX")
    if prefix is not None and not (isinstance(prefix, str) and _is_prefix(prefix)):
        raise ValueError(
            f"REPOSITORY_PREFIX={prefix!r}: must be letters, digits, '_', '.' and '-', no '.' or '-' first"
        )
    directory = values.value("REPOSITORY_DIR")
    if not directory:
        return None
    with needs_extra(f"REPOSITORY_DIR={directory!r}", "repository"):
        from crawlproject.repository import COMPRESSIONS, RepositoryOptions
    return RepositoryOptions(
        directory=Path(job_dir(settings) or "", directory),
        compression=COMPRESSIONS[compression],
        file_size=file_size,
        prefix=prefix or re.sub(r"[^A-Za-z0-9_]+", "_", spider_name) or "crawl",
        info=_info(settings, spider_name, values.value("REPOSITORY_OPERATOR")),
    )


def _info(settings: BaseSettings, spider_name: str, operator: str | None) -> dict[str, str | None]:
    """What each file says of the crawl that wrote it."""
    own = f"crawlproject/{crawlproject.__version__}"
    return {
        "software": f"{own} Scrapy/{scrapy.__version__} FastWARC/{version('fastwarc')}",
        "format": "WARC File Format 1.1",
        "conformsTo": "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/",
        "operator": operator,
        "robots": "classic" if settings.getbool("ROBOTSTXT_OBEY") else "ignore",
        "http-header-user-agent": settings["USER_AGENT"],
        "hostname": socket.gethostname(),
        "isPartOf": spider_name,
    }
