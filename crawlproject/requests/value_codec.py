"""Values of requests (``meta``, ``cb_kwargs``) as JSON and back: no pickle; decoding imports and runs no code.

A type that JSON lacks is written as an object with one key::

    {"$b": latin-1} bytes      {"$t": [..]} tuple       {"$s": [..]} set          {"$f": [..]} frozenset
    {"$d": [[key, value]..]}   dict with keys that are not strings, or begin with $
    {"$ordered": [[key, value]..]}        {"$counter": [[key, value]..]}          {"$deque": [[..], maxlen]}
    {"$default": [name of a built-in factory, [[key, value]..]]}                  defaultdict
    {"$datetime": [iso, fold, zone]}  {"$date": iso}  {"$time": [iso, fold]}  {"$timedelta": [days, seconds, us]}
    {"$decimal": text}         {"$complex": [real, imaginary]}                    {"$uuid": hex}
    {"$path": [class, text]}   {"$enum": [class, name]} or [class, value] of a flag
    {"$item": [class, {field: value}]}   Scrapy items, dataclasses, attrs classes
    {"$named": [class, [..]]}  named tuples
    {"$page_method": {attribute: value}}   scrapy-playwright's

Some values of other packages are written as their plain equals: texts of parsers, scalars of numpy, time zones (their
offset).

Classes of items, enumerations and named tuples are written as their path.  A path is resolved only in modules of the
project that were imported when the codec was created (``project_modules``), and only from class to class, by lookup in
their dictionaries; a value whose class cannot be found this way is not written.  (``PARSED_URLS`` are known.)  Such an
object is created without calling its class, by setting its fields, as pickle does.  (Only a combination of flags is
created by its class.)
"""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict, defaultdict, deque
from dataclasses import is_dataclass
from datetime import date, datetime, time, timedelta, timezone
from decimal import Decimal, InvalidOperation
from enum import Enum, Flag
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING, Any
from urllib.parse import ParseResult, SplitResult
from uuid import UUID
from zoneinfo import ZoneInfo

from itemadapter import ItemAdapter
from scrapy import Item

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import ModuleType

#: Maximum nesting of values.
MAX_DEPTH = 64

#: Name in the store -> class of paths; "path" is the concrete class of the system that reads it.
_PATHS: dict[str, type[PurePosixPath | PureWindowsPath | Path]] = {
    "path": Path,
    "posix": PurePosixPath,
    "windows": PureWindowsPath,
}
_PATH_NAMES: dict[type, str] = {type(Path()): "path", PurePosixPath: "posix", PureWindowsPath: "windows"}

#: Factories of defaultdicts, by name.
_FACTORIES: dict[str | None, Any] = {
    None: None,
    **{kind.__name__: kind for kind in (bool, dict, float, int, list, set, str, tuple)},
}

#: Packages whose texts, subclasses of ``str`` that refer to the parsed page, are written as ``str``.  The link
#: extractors of Scrapy put such a text into ``meta`` (``link_text``).
_PARSERS = ("lxml", "bs4")

#: Packages whose time zones are written as the offset that they have at that time: ``dateutil`` and ``dateparser`` find
#: them in texts.
_ZONES = ("dateparser", "dateutil", "pytz")

#: Kinds of numpy's scalars that equal a ``bool``, ``int``, ``float``, ``complex``, ``bytes`` or ``str``.
_SCALARS = "biufcSU"

#: Path -> named tuple of Python's own, as ``urlparse`` and ``urlsplit`` return them.
PARSED_URLS: dict[str, type] = {f"{kind.__module__}:{kind.__qualname__}": kind for kind in (ParseResult, SplitResult)}

#: Module of scrapy-playwright's ``PageMethod``, which spiders put into ``meta``; its attributes.
_PLAYWRIGHT, _PAGE_METHOD = "scrapy_playwright.page", ("method", "args", "kwargs", "result")

#: Exceptions while decoding a value that we did not write.
_MALFORMED = (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError, InvalidOperation)


class NotSerializableError(ValueError):
    """The value, or a part of it, cannot be stored."""


def project_modules(spider_class: type, listed: Iterable[str] = ()) -> dict[str, ModuleType]:
    """The imported modules of the project, by name.

    These are the modules in the top-level packages of ``listed`` (``SPIDER_MODULES``, the settings module), of the
    spider's class and its bases, and of this project; not those of Scrapy and Python.
    """
    names = [*listed, *(base.__module__ for base in spider_class.__mro__), __name__]
    tops = {name.partition(".")[0] for name in names} - {"scrapy"} - sys.stdlib_module_names
    return {name: module for name, module in list(sys.modules.items()) if name.partition(".")[0] in tops and module}


class ValueCodec:
    """Encodes and decodes values; ``modules``: where their classes may be defined. O(size)."""

    def __init__(self, modules: dict[str, ModuleType]) -> None:
        self._modules = modules
        self._paths: dict[type, str] = {}  # cache: class -> path

    def encode(self, value: Any, depth: int = 0) -> Any:
        """``value`` as JSON types. Raises NotSerializableError."""
        kind = type(value)
        if value is None or kind in (bool, int, float, str):
            return value
        if depth > MAX_DEPTH:
            raise NotSerializableError(f"values nested more than {MAX_DEPTH} deep")
        if kind is list:
            return [self.encode(item, depth + 1) for item in value]
        if kind is dict:
            return self._encode_dict(value, depth + 1)
        if kind in _TAGS:
            return {_TAGS[kind]: [self.encode(item, depth + 1) for item in value]}
        encode = _ENCODERS.get(kind)
        if encode is not None:
            return encode(value)
        if kind in _MAPPINGS or kind is deque:
            return self._encode_collection(value, kind, depth + 1)
        return self._encode_object(value, kind, depth + 1)

    def _encode_dict(self, value: dict[Any, Any], depth: int) -> Any:
        if all(type(key) is str and not key.startswith("$") for key in value):
            return {key: self.encode(item, depth) for key, item in value.items()}
        return {"$d": self._pairs(value, depth)}

    def _pairs(self, value: dict[Any, Any], depth: int) -> list[list[Any]]:
        return [[self.encode(key, depth), self.encode(item, depth)] for key, item in value.items()]

    def _encode_collection(self, value: Any, kind: type, depth: int) -> Any:
        if kind is deque:
            return {"$deque": [[self.encode(item, depth) for item in value], value.maxlen]}
        pairs = self._pairs(value, depth)
        if kind is not defaultdict:
            return {_MAPPINGS[kind]: pairs}
        name = getattr(value.default_factory, "__name__", None)
        if value.default_factory is not _FACTORIES.get(name):
            raise NotSerializableError("a defaultdict whose factory is no built-in type")
        return {"$default": [name, pairs]}

    def _encode_object(self, value: Any, kind: type, depth: int) -> Any:
        if isinstance(value, Flag):
            return {"$enum": [self._path(kind), self.encode(value.value, depth)]}
        if isinstance(value, Enum):
            return {"$enum": [self._path(kind), value.name]}
        if isinstance(value, tuple) and _is_named_tuple(kind):
            return {"$named": [self._path(kind), [self.encode(item, depth) for item in value]]}
        if isinstance(value, str) and kind.__module__.partition(".")[0] in _PARSERS:
            return str.__str__(value)
        if (
            kind.__module__ == "numpy"
            and getattr(getattr(value, "dtype", None), "kind", "") in _SCALARS
            and not value.ndim
        ):
            return self.encode(value.item(), depth)
        if kind is _page_method():
            return {"$page_method": self._encode_dict(vars(value), depth)}
        if _is_item_class(kind):
            path = self._path(kind)
            _check_fields_are_all(value, kind, path)
            fields = dict(ItemAdapter(value))
            return {"$item": [path, self._encode_dict(fields, depth)]}
        raise NotSerializableError(f"a value of {kind.__module__}.{kind.__qualname__}")

    def _path(self, kind: type) -> str:
        """The path that ``_class`` resolves to ``kind``."""
        path = self._paths.get(kind)
        if path is None:
            path = f"{kind.__module__}:{kind.__qualname__}"
            if self._find(path) is not kind:
                raise NotSerializableError(
                    f"a value of {kind.__module__}.{kind.__qualname__}, which no module of the project defines"
                )
            self._paths[kind] = path
        return path

    def _find(self, path: str) -> type | None:
        if path in PARSED_URLS:
            return PARSED_URLS[path]
        module, _, names = path.partition(":")
        found: Any = self._modules.get(module)
        for name in names.split("."):
            found = None if found is None else vars(found).get(name)
            if not isinstance(found, type):
                return None
        return found if found is not None and found.__module__ == module else None

    def _class(self, path: Any, suits: Callable[[type], bool]) -> Any:
        found = self._find(path) if isinstance(path, str) else None
        if found is None or not suits(found):
            raise ValueError(f"{path!r} is not a class of values in this project")
        return found

    def decode(self, value: Any) -> Any:
        """The value that was encoded. Raises ValueError, or RecursionError, for input not from ``encode``."""
        if isinstance(value, list):
            return [self.decode(item) for item in value]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            [(key, item)] = value.items()
            if key.startswith("$"):
                return self._decode_tagged(key, item)
        return {key: self.decode(item) for key, item in value.items()}

    def _decode_tagged(self, tag: str, value: Any) -> Any:
        try:
            if tag in _COLLECTIONS:
                return _COLLECTIONS[tag](self.decode(each) for each in value)
            if tag in _DICTS:
                return _DICTS[tag]({self.decode(name): self.decode(each) for name, each in value})
            if tag == "$default":
                name, pairs = value
                return defaultdict(_FACTORIES[name], self.decode({"$d": pairs}))
            if tag == "$deque":
                items, length = value
                return deque(self.decode(items), length)
            if tag in _DECODERS:
                return _DECODERS[tag](value)
            if tag == "$page_method":
                return _decode_page_method(self.decode(value))
            if tag in ("$enum", "$named", "$item"):
                path, content = value
                return self._decode_object(tag, path, self.decode(content))
        except _MALFORMED as error:
            raise ValueError(f"malformed value {tag}: {error}") from error
        raise ValueError(f"unknown kind of value: {tag!r}")

    def _decode_object(self, tag: str, path: Any, content: Any) -> Any:
        if tag == "$enum":
            kind = self._class(path, lambda kind: issubclass(kind, Enum))
            return kind(content) if issubclass(kind, Flag) else kind.__members__[content]
        if tag == "$named":
            kind = self._class(path, _is_named_tuple)
            if len(content) != len(kind._fields):
                raise ValueError(f"{path} has the fields {', '.join(kind._fields)}")
            return tuple.__new__(kind, content)
        kind = self._class(path, _is_item_class)
        unknown = content.keys() - set(ItemAdapter.get_field_names_from_class(kind) or ())
        if unknown:
            raise ValueError(f"{path} has no fields {sorted(unknown)}")
        if issubclass(kind, Item):
            item = Item.__new__(kind)
            Item.__init__(item)
            for name, each in content.items():
                Item.__setitem__(item, name, each)
            return item
        made = object.__new__(kind)
        for name, each in content.items():
            object.__setattr__(made, name, each)  # works for frozen classes, too
        return made


def _page_method() -> Any:
    """scrapy-playwright's class; None if the project does not use it."""
    return getattr(sys.modules.get(_PLAYWRIGHT), "PageMethod", None)


def _decode_page_method(attributes: dict[str, Any]) -> Any:
    kind = _page_method()
    if kind is None or not attributes.keys() <= set(_PAGE_METHOD):
        raise ValueError("not a PageMethod of scrapy-playwright, or its module is not imported")
    made = object.__new__(kind)
    vars(made).update(attributes)
    return made


def _is_named_tuple(kind: type) -> bool:
    return issubclass(kind, tuple) and isinstance(getattr(kind, "_fields", None), tuple)


def _is_item_class(kind: type) -> bool:
    """Whether its objects consist of fields only: items, dataclasses, attrs classes."""
    return issubclass(kind, Item) or is_dataclass(kind) or hasattr(kind, "__attrs_attrs__")


def _check_fields_are_all(value: Any, kind: type, path: str) -> None:
    """Raise NotSerializableError if the object has further attributes, or cannot be created by ``object.__new__``."""
    fields = set(ItemAdapter.get_field_names_from_class(kind) or ())
    if issubclass(kind, Item):
        fields.add("_values")  # the values of all fields
    held = set(getattr(value, "__dict__", ()))
    for base in kind.__mro__:
        held |= {name for name in _slots(base) if _has(value, name)}
    if held - fields:
        raise NotSerializableError(f"a value of {path.replace(':', '.')}, which holds more than its fields")
    try:
        object.__new__(kind)
    except TypeError as error:
        raise NotSerializableError(f"a value of {path.replace(':', '.')}: {error}") from error


def _slots(kind: type) -> list[str]:
    """Names of the slots that the class adds, with private names mangled."""
    slots = vars(kind).get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else tuple(slots)
    private = f"_{kind.__name__.lstrip('_')}"
    return [
        private + name if name.startswith("__") and not name.endswith("__") else name
        for name in names
        if name not in ("__dict__", "__weakref__")
    ]


def _has(value: Any, slot: str) -> bool:
    try:
        object.__getattribute__(value, slot)
    except AttributeError:
        return False
    return True


def _encode_datetime(value: datetime) -> Any:
    zone = value.tzinfo
    if zone is None or type(zone) is timezone:
        return {"$datetime": [value.isoformat(), value.fold, None]}
    if type(zone) is ZoneInfo and zone.key is not None:
        return {"$datetime": [value.replace(tzinfo=None).isoformat(), value.fold, zone.key]}
    if type(zone).__module__.partition(".")[0] in _ZONES:
        return {"$datetime": [value.isoformat(), value.fold, None]}
    raise NotSerializableError(f"a time zone of {type(zone).__module__}.{type(zone).__qualname__}")


def _decode_datetime(value: Any) -> datetime:
    text, fold, zone = value
    read = datetime.fromisoformat(text).replace(fold=fold)
    return read if zone is None else read.replace(tzinfo=ZoneInfo(zone))


def _encode_time(value: time) -> Any:
    if value.tzinfo is not None and type(value.tzinfo) is not timezone:
        raise NotSerializableError(f"a time of the time zone {value.tzinfo}")
    return {"$time": [value.isoformat(), value.fold]}


_COLLECTIONS: dict[str, Callable[[Iterable[Any]], Any]] = {"$t": tuple, "$s": set, "$f": frozenset}
_TAGS: dict[Any, str] = {kind: tag for tag, kind in _COLLECTIONS.items()}

_MAPPINGS: dict[type, str] = {OrderedDict: "$ordered", Counter: "$counter", defaultdict: "$default"}

_DICTS: dict[str, Callable[[dict[Any, Any]], Any]] = {"$d": dict, "$ordered": OrderedDict, "$counter": Counter}

_ENCODERS: dict[type, Callable[[Any], Any]] = {
    bytes: lambda value: {"$b": value.decode("latin-1")},
    datetime: _encode_datetime,
    date: lambda value: {"$date": value.isoformat()},
    time: _encode_time,
    timedelta: lambda value: {"$timedelta": [value.days, value.seconds, value.microseconds]},
    Decimal: lambda value: {"$decimal": str(value)},
    complex: lambda value: {"$complex": [value.real, value.imag]},
    UUID: lambda value: {"$uuid": value.hex},
    **{kind: lambda value: {"$path": [_PATH_NAMES[type(value)], str(value)]} for kind in _PATH_NAMES},
}

_DECODERS: dict[str, Callable[[Any], Any]] = {
    "$b": lambda value: value.encode("latin-1"),
    "$datetime": _decode_datetime,
    "$date": date.fromisoformat,
    "$time": lambda value: time.fromisoformat(value[0]).replace(fold=value[1]),
    "$timedelta": lambda value: timedelta(days=value[0], seconds=value[1], microseconds=value[2]),
    "$decimal": Decimal,
    "$complex": lambda value: complex(*value),
    "$uuid": lambda value: UUID(hex=value),
    "$path": lambda value: _PATHS[value[0]](value[1]),
}
