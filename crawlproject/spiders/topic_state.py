"""The learned state of a focused crawl, kept in ``JOBDIR/topic.json``."""

from __future__ import annotations

import json
import logging
import zlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from crawlproject.storage.replacing import replace_file

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from scrapy.statscollectors import StatsCollector

    from crawlproject.content.relevance.model import LinkModel

logger = logging.getLogger(__name__)

#: Version of the file.
VERSION = 1
#: Bytes of the largest file: the model has 4 MB if every weight is used.
_MAX_BYTES = 16_000_000


@dataclass
class Learned:
    """The model, and the terms learned from examples, if there are any."""

    model: LinkModel
    terms: dict[str, float] | None = None
    threshold: float | None = None
    #: Terms of the topic that were on a page.
    found: set[str] = field(default_factory=set)

    @classmethod
    def nothing(cls) -> Self:
        from crawlproject.content.relevance.model import LinkModel

        return cls(LinkModel())


class TopicStateFile:
    """The file in ``folder``, for the topic with these ``settings``: another topic's is not used.

    ``sources``: what learned terms and threshold depend on besides.
    """

    def __init__(self, folder: Path, settings: Mapping[str, Any], sources: Any, stats: StatsCollector) -> None:
        self._path = folder / "topic.json"
        self._topic, self._sources = fingerprint(settings), fingerprint(sources)
        self._stats = stats
        self._has_failed = False

    def load(self) -> Learned | None:
        """The learned state; None if there is no file, or none that can be used, which costs a line in the log."""
        from crawlproject.content.relevance.model import LinkModel

        try:
            if self._path.stat().st_size > _MAX_BYTES:
                raise ValueError("too large")
            data = json.loads(self._path.read_bytes())
            if not isinstance(data, dict) or data.get("version") != VERSION:
                raise ValueError(f"not of version {VERSION}")
            if data.get("topic") != self._topic:
                logger.info("%s: learned for another topic; not used", self._path)
                return None
            if data.get("sources") != self._sources:
                logger.info("%s: learned from other examples, or with other settings; not used", self._path)
                return None
            found = data.get("found")
            if not isinstance(found, list) or not all(isinstance(term, str) for term in found):
                raise ValueError("wrong terms")
            return Learned(LinkModel.from_state(data.get("model")), *_terms(data), set(found))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError) as error:
            self._stats.inc_value("topic/state_damaged")
            reason = error.strerror if isinstance(error, OSError) else str(error)
            logger.warning("%s: damaged, so links are learned from the beginning: %.200s", self._path, reason)
            return None

    def save(self, learned: Learned) -> None:
        """Replace the file; a crash or a power cut leaves the old one. 30 ms, and what the disk takes."""
        data = {
            "version": VERSION,
            "topic": self._topic,
            "sources": self._sources,
            "terms": learned.terms,
            "threshold": learned.threshold,
            "found": sorted(learned.found),
            "model": learned.model.to_state(),
        }
        try:
            replace_file(self._path, json.dumps(data))
        except OSError as error:
            self._stats.inc_value("topic/state_failed")
            if not self._has_failed:
                self._has_failed = True
                logger.warning("%s: not written: %s", self._path, error.strerror)


def fingerprint(values: Any) -> int:
    """Of what JSON can hold: the same in every run."""
    return zlib.crc32(json.dumps(values, sort_keys=True).encode("utf-8", "surrogatepass"))


def _terms(data: Mapping[str, Any]) -> tuple[dict[str, float] | None, float | None]:
    """The learned terms and threshold. Raises ValueError."""
    terms, threshold = data.get("terms"), data.get("threshold")
    if terms is None:
        return None, None
    numbers = [*terms.values(), threshold] if isinstance(terms, dict) else [None]
    if not all(isinstance(one, float) and 0.0 < one < 1e6 for one in numbers):
        raise ValueError("wrong terms")
    return terms, threshold
