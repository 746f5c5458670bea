"""A table of a rule file, read key by key: knows its place in the file, and which keys were not read."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, TypeAlias

#: Keys of tables, and places in lists.
Path: TypeAlias = tuple[str | int, ...]

#: Types of TOML, as messages name them.
_NAMES = {str: "a text", bool: "true or false"}


class RuleError(ValueError):
    """An error at ``path``."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{dotted(path)}: {reason}" if path else reason)
        self.path = path


class Table:
    """Keys are read one by one; ``end`` refuses those that were not read."""

    def __init__(self, data: Any, path: Path = ()) -> None:
        if not isinstance(data, dict):
            is_doubled = isinstance(data, list) and data and all(isinstance(one, dict) for one in data)
            name = dotted(path)
            raise RuleError(
                path, f"must be a table, not {f'[[{name}]], but [{name}]' if is_doubled else f'{data!r:.80}'}"
            )
        self._data: dict[str, Any] = data
        self.path = path
        self._taken: list[str] = []

    def keys(self) -> list[str]:
        return list(self._data)

    def has(self, key: str) -> bool:
        return key in self._data

    def take(self, key: str, kind: type, default: Any = None) -> Any:
        """The value of a key, of one type."""
        self._taken.append(key)
        value = self._data.get(key, default)
        if value is not None and not isinstance(value, kind):
            raise self.wrong(key, f"must be {_NAMES[kind]}, not {value!r:.80}")
        return value

    def any(self, key: str) -> Any:
        self._taken.append(key)
        return self._data.get(key)

    def texts(self, key: str) -> list[str]:
        """A list of texts, or one text."""
        self._taken.append(key)
        value = self._data.get(key, [])
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list) or not all(isinstance(one, str) and one for one in values):
            raise self.wrong(key, f"must be a list of texts, not {value!r:.80}")
        return values

    def table(self, key: str) -> Table:
        """The table below a key; empty if it is not given."""
        return Table({} if (value := self.any(key)) is None else value, (*self.path, key))

    def only(self, *keys: str, hint: str = "") -> None:
        """Raise RuleError for a key that is none of these; ``hint``: where it may belong."""
        self._taken.extend(keys)
        self.end(hint)

    def end(self, hint: str = "") -> None:
        """Raise RuleError for a key that nobody has taken."""
        for key in self._data:
            if key not in self._taken:
                meant = get_close_matches(key, self._taken, 1)
                known = f"did you mean {meant[0]}?" if meant else f"known keys: {', '.join(dict.fromkeys(self._taken))}"
                raise self.wrong(key, f"unknown key; {known}{hint}")

    def wrong(self, key: str, reason: str) -> RuleError:
        """The error to raise for the value of a key."""
        return RuleError((*self.path, key), reason)


def dotted(path: Path) -> str:
    """``records.book.fields.price``."""
    return ".".join(map(str, path))
