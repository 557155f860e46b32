"""Base class of the API's objects: reads them from JSON and writes them to JSON."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import date, datetime
from types import UnionType
from typing import Any, Final, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

ModelType = TypeVar("ModelType", bound="Model")
Decoder = Callable[[Any], Any]


class Unset(enum.Enum):
    """Type of `UNSET`, the value of a member that is absent. `None` is JSON's null, which clears a field."""

    UNSET = "UNSET"

    def __bool__(self) -> Literal[False]:
        return False

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Final = Unset.UNSET


@dataclass(frozen=True)
class ResponseInfo:
    """The HTTP response that contained a result."""

    status: int
    headers: Mapping[str, str]
    """Names are case-insensitive."""

    @property
    def request_id(self) -> str | None:
        """Quote it when you ask the operator for help."""
        return self.headers.get("x-request-id")

    @property
    def etag(self) -> str | None:
        """Version of the job, for `if_match`."""
        return self.headers.get("etag")

    @property
    def is_replayed(self) -> bool:
        """True if an earlier request with the same Idempotency-Key made the change."""
        return self.headers.get("idempotency-replayed") == "true"


@dataclass(kw_only=True)
class Model:
    """An object of the API. Members that this version doesn't know are in `additional_properties`."""

    additional_properties: dict[str, Any] = field(default_factory=dict, repr=False)
    _response: ResponseInfo | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def last_response(self) -> ResponseInfo:
        """The response that contained this result. Raises LookupError for an object inside a result."""
        if self._response is None:
            raise LookupError(f"This {type(self).__name__} is not the result of a request")
        return self._response

    @classmethod
    def from_dict(cls: type[ModelType], data: Mapping[str, Any]) -> ModelType:
        """Never raises because of unknown or absent members: an absent member is UNSET."""
        known: dict[str, Any] = {}
        rest = dict(data)
        for name, json_name, decode in _members(cls):
            value = rest.pop(json_name, UNSET)
            known[name] = value if value is None or value is UNSET else decode(value)
        return cls(**known, additional_properties=rest)

    def to_dict(self) -> dict[str, Any]:
        """Returns JSON data without the members that are UNSET."""
        values = {json_name: getattr(self, name) for name, json_name, _ in _members(type(self))}
        return {**_encode(values), **_encode(self.additional_properties)}


def encode_body(body: Model | Mapping[str, Any]) -> Any:
    """Returns JSON data. Accepts dates, times and UNSET in a mapping too."""
    return _encode(body)


def encode_text(value: Any) -> str:
    """Returns a value as text for a path, query or header."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple, set, frozenset)):
        return ",".join(encode_text(item) for item in value)
    return str(_encode(value))


def _encode(value: Any) -> Any:
    if isinstance(value, Model):
        return value.to_dict()
    if isinstance(value, Mapping):
        return {name: _encode(member) for name, member in value.items() if member is not UNSET}
    if isinstance(value, (list, tuple)):
        return [_encode(item) for item in value]
    if isinstance(value, datetime):
        return _encode_time(value)
    return value.isoformat() if isinstance(value, date) else value


def _encode_time(value: datetime) -> str:
    """Returns a time as the API writes it, in milliseconds if it has no finer part."""
    precision = "auto" if value.microsecond % 1000 else "milliseconds"
    return value.isoformat(timespec=precision).replace("+00:00", "Z")


_members_by_class: dict[type[Model], list[tuple[str, str, Decoder]]] = {}


def _members(cls: type[Model]) -> list[tuple[str, str, Decoder]]:
    """Returns the attribute name, the JSON name and the decoder of each member."""
    if cls not in _members_by_class:
        _members_by_class[cls] = _read_members(cls)
    return _members_by_class[cls]


def _read_members(cls: type[Model]) -> list[tuple[str, str, Decoder]]:
    hints = get_type_hints(cls)
    own = {item.name for item in fields(Model)}
    return [
        (item.name, item.metadata.get("json", item.name), _decoder(hints[item.name]))
        for item in fields(cls)
        if item.name not in own
    ]


def _decoder(hint: Any) -> Decoder:
    """Returns a function that leaves a value as it is if it has another type than `hint`."""
    origin, args = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        known = [each for each in args if each not in (type(None), Unset)]
        return _decoder(known[0]) if len(known) == 1 else _unchanged
    if origin is list:
        item = _decoder(args[0])
        return lambda value: [item(each) for each in value] if isinstance(value, list) else value
    if origin is dict:
        member = _decoder(args[1])
        return lambda value: (
            {name: member(each) for name, each in value.items()} if isinstance(value, Mapping) else value
        )
    if hint is datetime or hint is date:
        return lambda value: _decode_time(value, hint)
    if isinstance(hint, type) and issubclass(hint, Model):
        return lambda value: hint.from_dict(value) if isinstance(value, Mapping) else value
    return _unchanged


def _unchanged(value: Any) -> Any:
    return value


def _decode_time(value: Any, hint: type[date]) -> Any:
    try:
        # Python 3.10 does not parse "Z".
        return hint.fromisoformat(value.replace("Z", "+00:00"))
    except (AttributeError, ValueError):
        return value
