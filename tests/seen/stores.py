"""Exact stores for tests."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

from crawlproject.seen.exact import MemorySeenSet
from crawlproject.seen.seen_set import ExactStore
from crawlproject.storage.directory import StoreLabel
from crawlproject.storage.disk import DiskStore
from crawlproject.storage.seen import DiskSeenStore


class ListStore:
    """The simplest exact store; records its calls and can be made to fail."""

    def __init__(self, keys: Sequence[int] = ()) -> None:
        self.keys = list(keys)
        self.asked: list[int] = []
        self.fails = False

    def _may_fail(self) -> None:
        if self.fails:
            raise OSError("disk full")

    def add_new(self, keys: Sequence[int]) -> list[bool]:
        self._may_fail()
        self.asked += keys
        answers = []
        for key in keys:
            answers.append(key not in self.keys)
            if answers[-1]:
                self.keys.append(key)
        return answers

    def add(self, keys: Sequence[int]) -> None:
        self._may_fail()
        assert not set(keys) & set(self.keys), "not new"
        assert len(set(keys)) == len(keys), "not distinct"
        self.keys += keys

    def contains(self, keys: Sequence[int]) -> list[bool]:
        return [key in self.keys for key in keys]

    def __len__(self) -> int:
        return len(self.keys)

    def __iter__(self) -> Iterator[int]:
        return iter(self.keys)


class CommittedStore(DiskSeenStore):
    """A store that commits added keys to disk at once."""

    def __init__(self, store: DiskStore) -> None:
        super().__init__(store)
        self._commit = store.commit

    def add_new(self, keys: Sequence[int]) -> list[bool]:
        answers = super().add_new(keys)
        self._commit()
        return answers

    def add(self, keys: Sequence[int]) -> None:
        super().add(keys)
        self._commit()


@contextmanager
def on_disk(kind: type[DiskSeenStore]) -> Iterator[ExactStore]:
    with TemporaryDirectory() as folder, DiskStore(Path(folder), StoreLabel("test", "quality")) as store:
        yield kind(store)


#: How to open each store that there is.
STORES: dict[str, Callable[[], AbstractContextManager[ExactStore]]] = {
    "memory": lambda: nullcontext(MemorySeenSet()),
    "list": lambda: nullcontext(ListStore()),
    "disk, not committed": lambda: on_disk(DiskSeenStore),
    "disk, committed": lambda: on_disk(CommittedStore),
}
