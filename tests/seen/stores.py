"""An exact store for tests."""

from collections.abc import Iterator, Sequence


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
