"""Requests as bytes for a store, and back: JSON, no pickle; no stored bytes can run code but the spider's own methods.

A link (``Links``) is stored as the name of its callback, or as nothing.  The name of a method of one of several spiders
has that spider's name before it (``shop:parse_book``).  Any other request is stored as JSON of the
attributes that differ from a plain ``Request(url)``, and its values; URL and priority are stored separately.

A type that JSON lacks is written as an object with one key::

    {"$b": latin-1} bytes      {"$t": [..]} tuple       {"$s": [..]} set          {"$f": [..]} frozenset
    {"$d": [[key, value]..]}   dict with keys that are not strings, or begin with $
    {"$datetime": iso}         {"$date": iso}           {"$decimal": text}
    {"$item": [class, {attribute: value}]}   Scrapy items, dataclasses, attrs classes

A time zone is written as its offset, and a subclass of ``str``, such as the link extractors' ``link_text``, as ``str``.

Classes are written as their path.  A path is resolved only in modules that were imported when the codec was created:
those of the project (``project_modules``), by lookup in their dictionaries.  Such an object is created without calling
its class, by setting its attributes, as pickle does.
"""

from __future__ import annotations

import json
import sys
from dataclasses import is_dataclass
from datetime import date, datetime
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

from itemadapter import ItemAdapter
from scrapy import Item, Request

from crawlproject.requests.entries import link_failed
from crawlproject.requests.meta import THIS_RUN
from crawlproject.requests.owners import Owners, SpiderMissingError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from types import ModuleType

    from scrapy import Spider

    from crawlproject.frontier.entry import Entry

#: Maximum nesting of values.
MAX_DEPTH = 64

#: Exceptions while decoding a value that we did not write.
_MALFORMED = (TypeError, ValueError, KeyError, IndexError, AttributeError, OverflowError, InvalidOperation)


LINK, REQUEST = b"c", b"r"

#: Name for the errback of links, which is not a method of the spider.
LINK_FAILED = "$link"

#: Between the name of a spider and that of its method: no method has it in its name.
OF = ":"

#: Attributes of a plain request; not written.
PLAIN: dict[str, Any] = {name: getattr(Request("data:,"), name) for name in Request.attributes}


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
        if kind in _COLLECTIONS:
            return {_COLLECTIONS[kind]: [self.encode(item, depth + 1) for item in value]}
        if kind in _SIMPLE:
            tag, written, _ = _SIMPLE[kind]
            return {tag: written(value)}
        if isinstance(value, str):
            return str.__str__(value)
        path = f"{kind.__module__}:{kind.__qualname__}"
        names = _names_of(kind)
        if names is None:
            raise NotSerializableError(f"a value of {path}")
        if self._find(path) is not kind:
            raise NotSerializableError(f"a value of {path}, which no module of the project defines")
        if not _attributes(value) <= names | {"_values"}:  # of an Item: the values of all fields
            raise NotSerializableError(f"a value of {path}, which holds more than its fields")
        return {"$item": [path, self._encode_dict(dict(ItemAdapter(value)), depth + 1)]}

    def _encode_dict(self, value: dict[Any, Any], depth: int) -> Any:
        if all(type(key) is str and not key.startswith("$") for key in value):
            return {key: self.encode(item, depth) for key, item in value.items()}
        return {"$d": [[self.encode(key, depth), self.encode(item, depth)] for key, item in value.items()]}

    def _find(self, path: str) -> type | None:
        module, _, names = path.partition(":")
        found: Any = self._modules.get(module)
        for name in names.split("."):
            found = None if found is None else vars(found).get(name)
            if not isinstance(found, type):
                return None
        return found if found is not None and found.__module__ == module else None

    def decode(self, value: Any) -> Any:
        """The value that was encoded. Raises ValueError, or RecursionError, for input not from ``encode``."""
        if isinstance(value, list):
            return [self.decode(item) for item in value]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            [(tag, content)] = value.items()
            if tag.startswith("$"):
                try:
                    return self._decode_tagged(tag, content)
                except _MALFORMED as error:
                    raise ValueError(f"malformed value {tag}: {error}") from error
        return {key: self.decode(item) for key, item in value.items()}

    def _decode_tagged(self, tag: str, value: Any) -> Any:
        if tag in _READERS:
            return _READERS[tag](value)
        if tag in _KINDS:
            return _KINDS[tag](self.decode(each) for each in value)
        if tag == "$d":
            return {self.decode(name): self.decode(each) for name, each in value}
        path, content = value
        kind = self._find(path)
        names = None if kind is None else _names_of(kind)
        fields = self.decode(content)
        if kind is None or names is None or not fields.keys() <= names:
            raise ValueError(f"{path!r} is no class of values in this project, or has other fields")
        made: Any = object.__new__(kind)
        if issubclass(kind, Item):
            Item.__init__(made)
        for name, each in fields.items():
            if issubclass(kind, Item):
                Item.__setitem__(made, name, each)
            else:
                object.__setattr__(made, name, each)  # works for frozen classes, too
        return made


def _names_of(kind: type) -> set[str] | None:
    """Names of the attributes that an object of ``kind`` consists of; None: unknown."""
    if issubclass(kind, Item) or is_dataclass(kind) or hasattr(kind, "__attrs_attrs__"):
        return {*(ItemAdapter.get_field_names_from_class(kind) or ())}
    return None


def _attributes(value: Any) -> set[str]:
    """Names of the attributes that an object has; private ones as they are mangled."""
    state = object.__getstate__(value)
    return {name for part in (state if isinstance(state, tuple) else (state,)) for name in part or ()}


_COLLECTIONS: dict[Any, str] = {tuple: "$t", set: "$s", frozenset: "$f"}
_KINDS: dict[str, Callable[[Iterable[Any]], Any]] = {tag: kind for kind, tag in _COLLECTIONS.items()}
#: Type -> its tag, writer and reader.
_SIMPLE: dict[type, tuple[str, Callable[[Any], str], Callable[[str], Any]]] = {
    bytes: ("$b", lambda value: value.decode("latin-1"), lambda text: text.encode("latin-1")),
    datetime: ("$datetime", datetime.isoformat, datetime.fromisoformat),
    date: ("$date", date.isoformat, date.fromisoformat),
    Decimal: ("$decimal", str, Decimal),
}
_READERS = {tag: reader for tag, _, reader in _SIMPLE.values()}


class RequestCodec:
    """Encodes and decodes requests of a crawl; ``modules``: further modules of the project. O(size).

    Raises NotSerializableError for what cannot be stored: other objects, a callback that is no method of ``spider``, or
    of one of ``owners``.
    """

    def __init__(self, spider: Spider, modules: Iterable[str] = (), owners: Owners | None = None) -> None:
        self._spider = spider
        self._owners = Owners() if owners is None else owners
        self._values = ValueCodec(project_modules(type(spider), modules))
        self._names: dict[tuple[type, object], str] = {}  # spider's class and function -> name of the method

    def encode_link(self, callback: Callable[..., Any] | None) -> bytes | None:
        """The payload of a link; None for the spider's default callback. Raises NotSerializableError."""
        return None if callback is None else LINK + self._name(callback).encode()

    def encode(self, request: Request) -> bytes:
        """The payload of any other request, without URL and priority. Raises NotSerializableError."""
        values = {name: getattr(request, name) for name in request.attributes if name not in ("url", "priority")}
        for name in ("callback", "errback"):
            if values[name] is not None:
                values[name] = self._name(values[name])
        values["headers"] = dict(request.headers)
        values["meta"] = {key: value for key, value in request.meta.items() if key not in THIS_RUN}
        if type(request) is not Request:
            values["_class"] = f"{type(request).__module__}.{type(request).__qualname__}"
            _request_class(values["_class"])
        changed = {name: value for name, value in values.items() if name not in PLAIN or value != PLAIN[name]}
        if not changed:
            return REQUEST
        try:
            return REQUEST + json.dumps(self._values.encode(changed), separators=(",", ":")).encode("ascii")
        except NotSerializableError:
            raise
        except ValueError as error:  # an int with more digits than Python converts
            raise NotSerializableError(str(error)) from error

    def decode(self, entry: Entry) -> Request:
        """The request of an entry with a payload from ``encode``. Raises ValueError if it is invalid."""
        payload: bytes = entry.payload
        if payload[:1] != REQUEST:
            raise ValueError(f"unknown kind of request: {payload[:1]!r}")
        try:
            values = self._values.decode(json.loads(payload[1:])) if payload[1:] else {}
        except RecursionError as error:
            raise ValueError("values nested too deep") from error
        kind = _request_class(values.pop("_class")) if "_class" in values else Request
        for name in ("callback", "errback"):
            if values.get(name) is not None:
                values[name] = self._method(values[name])
        unknown = values.keys() - set(kind.attributes)
        if unknown:
            raise ValueError(f"unknown attributes of a request: {sorted(unknown)}")
        return kind(entry.url, priority=entry.priority, **values)

    @staticmethod
    def is_link(payload: bytes) -> bool:
        """Whether ``payload`` is from ``encode_link``."""
        return payload[:1] == LINK

    def decode_link(self, payload: bytes | None) -> Callable[..., Any] | None:
        """The callback of a payload from ``encode_link``. Raises ValueError if the spider has no such method."""
        return None if payload is None else self._method(payload[1:].decode())

    def _name(self, callback: Callable[..., Any]) -> str:
        if callback is link_failed:
            return LINK_FAILED
        function, spider = getattr(callback, "__func__", None), getattr(callback, "__self__", None)
        owner = None if function is None or spider is self._spider else self._owners.of_call(callback)
        if function is None or (owner is None and spider is not self._spider):
            name = getattr(callback, "__qualname__", type(callback).__qualname__)
            raise NotSerializableError(f"a callback, {name}, that is not a method of the spider")
        name = self._names.get((type(spider), function))
        if name is None:
            name = self._names[type(spider), function] = self._find_name(type(spider), function)
        return name if owner is None else f"{owner.name}{OF}{name}"

    @staticmethod
    def _find_name(kind: type, function: object) -> str:
        likely: str = getattr(function, "__name__", "")
        for name in (likely, *dir(kind)):
            if getattr(kind, name, None) is function:
                return name
        raise NotSerializableError(f"a callback, {likely}, that is not a method of the spider")

    def _method(self, name: object) -> Callable[..., Any] | None:
        if name == LINK_FAILED:
            return link_failed
        spider: Spider | None = self._spider
        if isinstance(name, str) and OF in name:
            owner_name, _, name = name.rpartition(OF)
            owner = self._owners.get(owner_name)
            spider = None if owner is None else owner.spider
            if spider is None:
                if self._owners.missing_to_web:
                    return None
                raise SpiderMissingError(f"its spider {owner_name} is not in this run of the crawl")
        if not isinstance(name, str) or not callable(getattr(type(spider), name, None)):
            raise ValueError(f"the spider has no method {name!r}")
        method: Callable[..., Any] = getattr(spider, name)
        return method


def _request_class(path: object) -> type[Request]:
    """The class ``path`` in an imported module: reading a store imports nothing."""
    module, _, name = str(path).rpartition(".")
    found = getattr(sys.modules.get(module), name, None)
    if not (isinstance(found, type) and issubclass(found, Request)):
        raise NotSerializableError(f"{path}, which is not a known class of requests")
    return found
