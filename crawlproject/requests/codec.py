"""Requests as bytes for a store, and back: JSON, no pickle; no stored bytes can run code but the spider's own methods.

A link (``Links``) is stored as the name of its callback, or as nothing.  The name of a method of one of several spiders
has that spider's name before it (``shop:parse_book``).  Any other request is stored as JSON of the
attributes that differ from a plain ``Request(url)``, with values in the format of ``value_codec``; URL and priority are
stored separately.
"""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

from scrapy import Request

from crawlproject.requests.link_request import link_failed
from crawlproject.requests.meta import THIS_RUN
from crawlproject.requests.owners import Owners, SpiderMissingError
from crawlproject.requests.value_codec import NotSerializableError, ValueCodec, project_modules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from scrapy import Spider

    from crawlproject.frontier.entry import Entry

LINK, REQUEST = b"c", b"r"

#: Name for the errback of links, which is not a method of the spider.
LINK_FAILED = "$link"

#: Between the name of a spider and that of its method: no method has it in its name.
OF = ":"

#: Attributes of a plain request; not written.
PLAIN: dict[str, Any] = {name: getattr(Request("data:,"), name) for name in Request.attributes}


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
