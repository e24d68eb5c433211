"""Core values to JSON values and back, by type name; the journal's event schema. Strict."""

from __future__ import annotations

import dataclasses
from enum import StrEnum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from donewhen.core import commands, contract, events, verdict
from donewhen.errors import Corrupt

TYPES: dict[str, type[Any]] = {
    kind.__name__: kind
    for module in (events, commands, contract, verdict)
    for kind in vars(module).values()
    if dataclasses.is_dataclass(kind) and isinstance(kind, type)
}


def encode(value: Any) -> dict[str, Any]:
    """A core dataclass as `{"type": name, "data": {...}}`, all JSON values."""
    return {"type": type(value).__name__, "data": plain(value)}


def plain(value: Any) -> Any:
    """Dataclasses to dicts, tuples to lists, enums to strings, deeply."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(v) for v in value]
    return value.value if isinstance(value, StrEnum) else value


def decode(record: dict[str, Any]) -> Any:
    """The value of `encode`. Raises Corrupt for an unknown type, a missing or unknown field."""
    if not isinstance(record, dict):
        raise Corrupt(f"expected a record, not {record!r:.80}")
    kind = TYPES.get(str(record.get("type")))
    if kind is None:
        raise Corrupt(f"unknown record type {record.get('type')!r}")
    return build(kind, record.get("data"))


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    return get_type_hints(kind)


def build(kind: Any, value: Any) -> Any:
    """`value`, JSON, as an instance of the type `kind`. Raises Corrupt where it does not fit."""
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return _union(kind, value)
    if origin is tuple:
        if not isinstance(value, list):
            raise Corrupt(f"expected a list, not {value!r:.80}")
        return tuple(build(get_args(kind)[0], item) for item in value)
    if origin is dict:
        if not isinstance(value, dict):
            raise Corrupt(f"expected an object, not {value!r:.80}")
        return {str(k): build(get_args(kind)[1], v) for k, v in value.items()}
    if dataclasses.is_dataclass(kind):
        return _dataclass(kind, value)
    if isinstance(kind, type) and issubclass(kind, StrEnum):
        return _scalar(kind, value)
    return _number(value) if kind is float else _checked(kind, value)


def _union(kind: Any, value: Any) -> Any:
    choices = [k for k in get_args(kind) if k is not NoneType]
    if value is None:
        return None
    if len(choices) == 1:
        return build(choices[0], value)
    found = decode(value)  # a union of dataclasses is written with its type
    if not isinstance(found, tuple(choices)):
        raise Corrupt(f"{type(found).__name__} cannot stand here")
    return found


def _dataclass(kind: Any, value: Any) -> Any:
    if not isinstance(value, dict):
        raise Corrupt(f"{kind.__name__}: expected an object, not {value!r:.80}")
    hints = _hints(kind)
    if unknown := value.keys() - hints.keys():
        raise Corrupt(f"{kind.__name__} has no field {sorted(unknown)[0]!r}")
    try:
        return kind(**{name: build(hints[name], item) for name, item in value.items()})
    except TypeError as error:
        raise Corrupt(f"{kind.__name__}: {error}") from error


def _scalar(kind: Any, value: Any) -> Any:
    try:
        return kind(value)
    except (TypeError, ValueError) as error:
        raise Corrupt(f"expected {kind.__name__}, not {value!r:.80}") from error


def _number(value: Any) -> float:
    """JSON writes 2.0 as 2; text and truth values are no numbers here.

    Infinity is read: what some adapter reported and the journal holds must not lock its run.
    """
    try:
        if not isinstance(value, bool) and isinstance(value, int | float):
            return float(value)
    except OverflowError:  # a whole number too large for a float: its text may be endless
        raise Corrupt("expected float, not a number of that size") from None
    raise Corrupt(f"expected float, not {value!r:.80}")


def _checked(kind: Any, value: Any) -> Any:
    if isinstance(kind, type) and (
        not isinstance(value, kind) or (kind is int and isinstance(value, bool))
    ):
        raise Corrupt(f"expected {kind.__name__}, not {value!r:.80}")
    return value
