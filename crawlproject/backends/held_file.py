"""The file in which a project's own dupefilter keeps what it has seen: never ahead of the frontier's store."""

from __future__ import annotations

from typing import IO, TYPE_CHECKING, Any, Generic, TypeVar

from crawlproject.engine import keep_file
from crawlproject.storage.errors import StoreError

if TYPE_CHECKING:
    from scrapy.dupefilters import BaseDupeFilter

Text = TypeVar("Text", str, bytes)


class HeldFile(Generic[Text]):
    """Stands for the file of a dupefilter; what is written to it waits for ``release``, or ``release_sent``.

    Otherwise a kill leaves requests that the dupefilter has seen and that no store has: they would never be fetched.
    What waits when the process dies is lost: these requests are seen again when their pages are fetched again.
    """

    def __init__(self, file: IO[Text]) -> None:
        self._file: IO[Text] = file
        self._waiting: list[Text] = []
        self._sent: list[Text] = []

    def write(self, text: Text) -> int:
        """Keep ``text`` until the frontier has stored its request. O(1)."""
        self._waiting.append(text)
        return len(text)

    def flush(self) -> None:
        """Nothing: a commit of the frontier decides."""

    def send(self) -> None:
        """What waits now is on its way to the store: the next ``release_sent`` writes it."""
        self._sent += self._waiting
        self._waiting = []

    def release_sent(self) -> None:
        """Write what was on its way: the frontier has stored these requests. Raises StoreError."""
        texts, self._sent = self._sent, []
        try:
            for text in texts:
                self._file.write(text)
            self._file.flush()
        except OSError as error:
            raise StoreError(str(getattr(self._file, "name", "dupefilter")), error.strerror or str(error)) from error

    def release(self) -> None:
        """Write all: the frontier has stored everything. Raises StoreError."""
        self.send()
        self.release_sent()

    def close(self) -> None:
        """Close the file; what still waits was not stored."""
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def hold_file(dupefilter: BaseDupeFilter) -> HeldFile[Any] | None:
    """Put a ``HeldFile`` in place of the file of a dupefilter like Scrapy's own; None if it has no file."""
    file: Any = getattr(dupefilter, "file", None)
    if not (hasattr(file, "write") and hasattr(file, "flush")):
        return None
    held: HeldFile[Any] = HeldFile(file)
    keep_file(dupefilter, held)
    return held
