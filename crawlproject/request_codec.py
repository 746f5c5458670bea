"""Requests as bytes and back, for a store: JSON, no pickle; reading one can run no code but the spider's own methods.

A link (``Links``) is its callback's name, or nothing.  Any other request is the JSON of what is not as in a plain
``Request(url)``; its URL and priority are stored beside it.  JSON has no bytes, tuples, sets or dicts with keys that
are not strings; they are objects with one key ``$b``, ``$t``, ``$s`` or ``$d``.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from scrapy import Request

from crawlproject.link_request import link_failed

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Spider

    from crawlproject.frontier import Entry

LINK, REQUEST = b"c", b"r"

#: Stands for the errback of links, which is no method of the spider.
LINK_FAILED = "$link"

#: What a plain request has; not written.
PLAIN: dict[str, Any] = {
    "callback": None,
    "method": "GET",
    "headers": {},
    "body": b"",
    "cookies": {},
    "meta": {},
    "encoding": "utf-8",
    "dont_filter": False,
    "errback": None,
    "flags": [],
    "cb_kwargs": {},
}


class NotSerializableError(ValueError):
    """The request holds something that cannot be written: an object, or a callback that is no method of the spider."""


class RequestCodec:
    """Writes and reads the requests of one spider. O(size)."""

    def __init__(self, spider: Spider) -> None:
        self._spider = spider
        self._names: dict[object, str] = {}  # of the spider's methods, by their function

    def encode_link(self, callback: Callable[..., Any] | None) -> bytes | None:
        """A link: None where the spider's default callback takes its page. Raises NotSerializableError."""
        return None if callback is None else LINK + self._name(callback).encode()

    def encode(self, request: Request) -> bytes:
        """Any request but its URL. Raises NotSerializableError."""
        values = {name: getattr(request, name) for name in request.attributes if name not in ("url", "priority")}
        for name in ("callback", "errback"):
            if values[name] is not None:
                values[name] = self._name(values[name])
        values["headers"] = dict(request.headers)
        if type(request) is not Request:
            values["_class"] = f"{type(request).__module__}.{type(request).__qualname__}"
            _request_class(values["_class"])
        changed = {name: value for name, value in values.items() if name not in PLAIN or value != PLAIN[name]}
        if not changed:
            return REQUEST
        try:
            return REQUEST + json.dumps(_to_json(changed), separators=(",", ":")).encode("ascii")
        except RecursionError as error:
            raise NotSerializableError("holds itself") from error

    def decode(self, entry: Entry) -> Request:
        """The request of an entry whose payload ``encode`` wrote. Raises ValueError where it cannot be read."""
        payload: bytes = entry.payload
        if payload[:1] != REQUEST:
            raise ValueError(f"unknown kind of request: {payload[:1]!r}")
        values = _from_json(json.loads(payload[1:])) if payload[1:] else {}
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
        """Whether ``encode_link`` wrote it."""
        return payload[:1] == LINK

    def decode_link(self, payload: bytes | None) -> Callable[..., Any] | None:
        """The callback that ``encode_link`` wrote. Raises ValueError where the spider has no such method."""
        return None if payload is None else self._method(payload[1:].decode())

    def _name(self, callback: Callable[..., Any]) -> str:
        if callback is link_failed:
            return LINK_FAILED
        function = getattr(callback, "__func__", None)
        if function is None or getattr(callback, "__self__", None) is not self._spider:
            raise NotSerializableError(f"{callback} is not a method of the spider")
        name = self._names.get(function)
        if name is None:
            name = self._names[function] = self._find_name(function)
        return name

    def _find_name(self, function: object) -> str:
        kind = type(self._spider)
        likely: str = getattr(function, "__name__", "")
        for name in (likely, *dir(kind)):
            if getattr(kind, name, None) is function:
                return name
        raise NotSerializableError(f"{function} is not a method of the spider")

    def _method(self, name: object) -> Callable[..., Any]:
        if name == LINK_FAILED:
            return link_failed
        if not isinstance(name, str) or not callable(getattr(type(self._spider), name, None)):
            raise ValueError(f"the spider has no method {name!r}")
        method: Callable[..., Any] = getattr(self._spider, name)
        return method


def _request_class(path: str) -> type[Request]:
    """The class of that name, of a module that has been imported: reading a store imports nothing."""
    module, _, name = path.rpartition(".")
    found = getattr(sys.modules.get(module), name, None)
    if not (isinstance(found, type) and issubclass(found, Request)):
        raise NotSerializableError(f"{path} is not a known class of requests")
    return found


def _to_json(value: Any) -> Any:
    """``value`` in terms of JSON. Raises NotSerializableError."""
    kind = type(value)
    if value is None or kind in (bool, int, float, str):
        return value
    if kind is bytes:
        return {"$b": value.decode("latin-1")}
    if kind is list:
        return [_to_json(item) for item in value]
    if kind is tuple:
        return {"$t": [_to_json(item) for item in value]}
    if kind is set:
        return {"$s": [_to_json(item) for item in value]}
    if kind is dict:
        if all(type(key) is str and not key.startswith("$") for key in value):
            return {key: _to_json(item) for key, item in value.items()}
        return {"$d": [[_to_json(key), _to_json(item)] for key, item in value.items()]}
    raise NotSerializableError(f"holds a {kind.__module__}.{kind.__qualname__}")


def _from_json(value: Any) -> Any:
    if isinstance(value, list):
        return [_from_json(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        [(key, item)] = value.items()
        if key == "$b":
            return item.encode("latin-1")
        if key == "$t":
            return tuple(_from_json(each) for each in item)
        if key == "$s":
            return {_from_json(each) for each in item}
        if key == "$d":
            return {_from_json(name): _from_json(each) for name, each in item}
    return {key: _from_json(item) for key, item in value.items()}
