"""From a client's plain data to an object: what Kubernetes' decoder accepts, drops, changes and refuses.

A type is compiled once into a plan that names its fields and a handler for each field that needs
more than a type check: structs, lists and maps of such, quantities (made canonical), times (cut to
whole seconds, UTC), integers (their range), base64. Everything else is left to msgspec, which builds
the object and checks the rest in C. Only when that fails is the data walked again, slowly, to say
what is wrong in Go's words.

Nothing the client sent is changed in place: what must change is copied.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from itertools import chain
from typing import Any, TypeVar, cast

import msgspec

from podling.api import core_v1, node_v1
from podling.api.meta_v1 import ObjectMeta
from podling.machinery.encoding import custom, scalars
from podling.machinery.encoding.bodies import Body, summary, warnings_of
from podling.machinery.encoding.jsonscan import MAX_REPORTED, strict_reports, unknown_field
from podling.machinery.encoding.mismatch import Mismatch, first_mismatch
from podling.machinery.encoding.plain import json_type
from podling.machinery.encoding.raw_fields import raw_json, with_raw_fields
from podling.machinery.encoding.shapes import Kind, Shape, fields_of, per_type
from podling.machinery.errors import ApiError, bad_request

T = TypeVar("T")
C = TypeVar("C", bound=custom.CustomObject)

Path = tuple[Any, Any] | None
"""The path of a value, innermost step first: ``(parent, step)``. Cheap to extend, formatted rarely."""

Handler = Callable[[Any, Path, "list[str] | None"], Any]
"""(value, path, unknown fields found or None) -> the value as the API keeps it."""


def convert(plain: Any, type_: type[T], field_validation: str = "Warn") -> tuple[T, list[str]]:
    """Return the object that ``plain`` (plain data or a ``Body``) describes, and the warnings to send.

    ``field_validation`` decides about unknown and repeated fields: ``Ignore`` drops them, ``Warn``
    returns one text each, ``Strict`` refuses. ``apiVersion`` and ``kind`` may be missing.
    Raises ``ApiError`` 400.
    """
    body = plain if isinstance(plain, Body) else Body(plain)
    try:
        return read(body, type_, field_validation)
    except Mismatch as error:
        raise cannot_handle(body.value, type_, str(error)) from None


def read(
    body: Body, type_: type[T], field_validation: str, *, inside_first: bool = False
) -> tuple[T, list[str]]:
    """Convert like ``convert``, for callers with messages of their own. Raises Mismatch.

    ``inside_first``: unknown fields are reported after those inside of their siblings, as the reader of plain
    data does, not in the order of the text, as the decoder of JSON does.
    """
    found: list[str] | None = None if field_validation == "Ignore" else []
    _check_kind(body.value, type_)
    obj: T = _build(body.value, type_, found)
    if found is None:
        return obj, []
    if found and body.text and not custom.is_custom(type_):
        told = strict_reports(body.text, found)
    else:
        strange = map(unknown_field, _inside_first(found) if inside_first and len(found) > 1 else found)
        told = list(dict.fromkeys(chain(body.duplicates, strange)))[:MAX_REPORTED]
    if told and field_validation == "Strict":
        raise Mismatch("strict decoding error: " + ", ".join(told))
    return obj, list(chain.from_iterable(map(warnings_of, told)))


def _inside_first(paths: list[str]) -> list[str]:
    """Paths in the order of the data, each behind those that are inside of its neighbours."""
    first: dict[tuple[str, ...], int] = {}

    def order(steps: tuple[str, ...]) -> list[tuple[bool, int]]:
        return [(end == len(steps), first[steps[:end]]) for end in range(1, len(steps) + 1)]

    taken = {path: tuple(re.split(r"\.|(?=\[)", path)) for path in paths}
    for position, steps in enumerate(taken.values()):
        for end in range(1, len(steps) + 1):
            first.setdefault(steps[:end], position)
    return sorted(paths, key=lambda path: order(taken[path]))


def _build(plain: Any, type_: type[T], found: list[str] | None) -> T:
    if custom.is_custom(type_):
        return cast(T, _build_custom(plain, type_, found))
    plain = {} if plain is None else plain  # to Go's decoder, null is a struct that says nothing
    try:
        return msgspec.convert(plan_of(type_)(plain, None, found), type_)
    except (msgspec.ValidationError, scalars.WrongType) as error:
        raise first_mismatch(plain, type_) or Mismatch(str(error)) from None
    except RecursionError:
        raise Mismatch("exceeded max depth") from None


def _build_custom(plain: Any, type_: type[Any], found: list[str] | None) -> Any:
    """An object of a custom kind: its metadata as strictly as everyone's, the rest as its schema has it."""
    if type(plain) is not dict:
        raise Mismatch(
            f"json: cannot unmarshal {json_type(plain)} into Go value of type map[string]interface {{}}"
        )
    metadata = plain.get("metadata")
    try:
        read = {} if metadata is None else plan_of(ObjectMeta)(metadata, (None, "metadata"), found)
        obj = custom.from_plain(plain, msgspec.convert(read or {}, ObjectMeta), type_)
    except (msgspec.ValidationError, scalars.WrongType) as error:
        raise first_mismatch(metadata, ObjectMeta) or Mismatch(str(error)) from None
    schema = type_.custom_resource.schema
    if found is not None and schema is not None:
        found += sorted(schema.unknown_fields(obj.content))
    return obj


def normalized(plain: Any, type_: type[Any], field_validation: str = "Warn") -> tuple[Any, list[str]]:
    """Return ``plain`` as ``convert`` would read it, but still as plain data and with nothing added.

    Server-side apply needs the fields that the writer named, with canonical values. Unknown fields stay
    and are reported as ``convert`` does. Raises Mismatch.
    """
    _, warnings = read(plain if isinstance(plain, Body) else Body(plain), type_, field_validation)
    value = plain.value if isinstance(plain, Body) else plain
    if custom.is_custom(type_):
        metadata = plan_of(ObjectMeta)(value.get("metadata") or {}, None, None)
        return {**value, "metadata": metadata}, warnings
    return plan_of(type_)(value, None, None), warnings


def trusted_custom(plain: Mapping[str, Any], type_: type[C]) -> C:
    """Return the custom object of trusted plain data. Raises ``msgspec.ValidationError`` for bad metadata."""
    given = with_raw_fields(plain).get("metadata") or {}
    try:
        metadata = msgspec.convert(given, ObjectMeta)
    except msgspec.ValidationError:
        metadata = object_meta(given)
    return custom.from_plain(plain, metadata, type_)


def object_meta(plain: Any) -> ObjectMeta:
    """Return the metadata in the plain data of another server, which may say null for what is absent.

    Raises ``msgspec.ValidationError`` for what is no metadata.
    """
    try:
        return msgspec.convert(plan_of(ObjectMeta)(plain, None, None), ObjectMeta)
    except (Mismatch, scalars.WrongType) as error:
        raise msgspec.ValidationError(str(error) or "a value of the wrong type") from None


def cannot_handle(plain: Any, type_: type[Any], why: str) -> ApiError:
    """400 in the words of a handler that could not decode its body."""
    group_version_kind = getattr(type_, "group_version_kind", ("", "v1", type_.__name__))
    said = plain if isinstance(plain, dict) else {}
    kind, version = (
        text if isinstance(text := said.get(name), str) else "" for name in ("kind", "apiVersion")
    )
    return bad_request(
        f'{kind or group_version_kind[2]} in version "{version.rpartition("/")[2] or group_version_kind[1]}" '
        f"cannot be handled as a {group_version_kind[2]}: {why}"
    )


_ALSO_ACCEPTED = {"Eviction": "policy/v1beta1"}
"""An older version that is taken for the kind's own."""


def _check_kind(plain: Any, type_: type[Any]) -> None:
    """Refuse data that says it is something else than the type; saying nothing is fine."""
    group_version_kind = getattr(type_, "group_version_kind", None)
    if group_version_kind is None or not isinstance(plain, dict):
        return
    group, version, kind = group_version_kind
    expected = f"{group}/{version}" if group else version
    if custom.is_custom(type_):
        _check_custom_kind(plain, kind, expected)
        return
    said_kind, said_version = plain.get("kind") or kind, plain.get("apiVersion") or expected
    if said_kind == kind and said_version in (expected, _ALSO_ACCEPTED.get(kind)):
        return
    if not isinstance(said_kind, str):
        return
    _refuse_kind(str(said_kind), str(said_version), kind, expected)


def _check_custom_kind(plain: dict[str, Any], kind: str, expected: str) -> None:
    """Custom objects must say what they are; that they say the right kind is validated with the rest."""
    if not plain.get("kind"):
        text = msgspec.json.encode(plain)
        raise bad_request(
            f"the object provided is unrecognized (must be of type {kind}): "
            f"Object 'Kind' is missing in '{text.decode()}' ({summary(text)})"
        )
    if (said := plain.get("apiVersion") or "") != expected and isinstance(said, str):
        raise bad_request(_other_version(said, expected))


def _other_version(said: str, expected: str) -> str:
    return f"the API version in the data ({said}) does not match the expected API version ({expected})"


def _refuse_kind(said_kind: str, said_version: str, kind: str, expected: str) -> None:
    from podling.machinery.scheme import split_group_version, type_of

    try:
        type_of(*split_group_version(said_version), said_kind)
    except LookupError as error:
        raise Mismatch(f'{error} in scheme "pkg/api/legacyscheme/scheme.go:30"') from None
    if said_kind == kind:
        raise bad_request(_other_version(said_version, expected))
    said = f"{said_version.rpartition('/')[2]}.{said_kind}"
    group = expected.rpartition("/")[0].partition(".")[0] or "core"
    raise Mismatch(f"converting ({said}) to ({group}.{kind}): unknown conversion")


@per_type
def plan_of(type_: type[Any]) -> Handler:
    """Return the compiled plan of a struct."""
    special: dict[str, Handler] | None = None
    names = fields_of(type_).keys()

    def handle(value: Any, path: Path, found: list[str] | None) -> Any:
        nonlocal special
        if special is None:
            # Compiled on first use, not before: types may hold themselves.
            special = {
                name: handler
                for name, shape in fields_of(type_).items()
                if (handler := _resource_list(type_, shape) or _handler(shape))
            }
        if type(value) is not dict:
            return value
        strange = found if found is not None and not value.keys() <= names else None
        changed = value
        for name, item in value.items():
            if strange is not None and name not in names:
                strange.append(dotted((path, name)))
            if item is None:
                if changed is value:
                    changed = dict(value)
                del changed[name]
            elif name in special:
                better = special[name](item, (path, name), found)
                if better is not item:
                    if changed is value:
                        changed = dict(value)
                    changed[name] = better
        return changed

    return handle


_SCALARS: dict[Kind, Callable[[Any], Any]] = {
    Kind.QUANTITY: scalars.quantity,
    Kind.BYTES: scalars.base64,
    Kind.INT_OR_STRING: scalars.int_or_string,
}
_ZEROS: dict[Kind, Any] = {
    Kind.STRING: "",
    Kind.BYTES: "",
    Kind.QUANTITY: "0",
    Kind.INTEGER: 0,
    Kind.NUMBER: 0.0,
    Kind.BOOLEAN: False,
    Kind.INT_OR_STRING: 0,
}


def _handler(shape: Shape) -> Handler | None:
    """Return the check that a value of this shape needs beyond msgspec's; None if that is enough."""
    if shape.kind is Kind.STRUCT and shape.struct:
        return plan_of(shape.struct)
    if shape.kind is Kind.LIST and shape.element:
        return _list_handler(shape.element)
    if shape.raw:
        return _raw
    if shape.kind is Kind.MAP and shape.element:
        return None if shape.element.kind is Kind.ANY else _map_handler(shape.element)
    if shape.kind is Kind.INTEGER:
        return _scalar_handler(scalars.int32 if shape.int32 else scalars.int64)
    if shape.kind is Kind.TIME:
        return _scalar_handler(scalars.micro_time if shape.micro else scalars.time)
    return _scalar_handler(_SCALARS[shape.kind]) if shape.kind in _SCALARS else None


_WITH_RESOURCE_LISTS = (core_v1.__name__, node_v1.__name__)


def _resource_list(type_: type[Any], shape: Shape) -> Handler | None:
    """Return the reader of a ``ResourceList``, as only maps of quantities are called in these versions."""
    amounts = shape.element
    if shape.kind is not Kind.MAP or amounts is None or amounts.kind is not Kind.QUANTITY:
        return None
    in_thousandths = type_.__module__ in _WITH_RESOURCE_LISTS
    return _map_handler(amounts, _scalar_handler(scalars.resource)) if in_thousandths else None


def _scalar_handler(read: Callable[[Any], Any]) -> Handler:
    def handle(value: Any, path: Path, found: list[str] | None) -> Any:
        try:
            return read(value)
        except scalars.WrongType:
            raise  # the slow walk says which field and why
        except ValueError as error:
            raise Mismatch(str(error)) from None

    return handle


def _raw(value: Any, path: Path, found: list[str] | None) -> Any:
    return raw_json(value) if type(value) is dict else value


def _zero(shape: Shape) -> Any:
    """Return Go's value for null in the place of a list or map."""
    if shape.kind is Kind.STRUCT or shape.kind is Kind.MAP:
        return {}
    return [] if shape.kind is Kind.LIST else _ZEROS.get(shape.kind)


def _list_handler(element: Shape) -> Handler:
    inner = _handler(element)

    def handle(value: Any, path: Path, found: list[str] | None) -> Any:
        if type(value) is not list:
            return value
        changed = value
        if None in value:
            changed = [_zero(element) if item is None else item for item in value]
        if inner is None:
            return changed
        for index, item in enumerate(changed):
            better = inner(item, (path, index), found)
            if better is not item:
                if changed is value:
                    changed = list(value)
                changed[index] = better
        return changed

    return handle


def _map_handler(element: Shape, reader: Handler | None = None) -> Handler:
    inner = reader or _handler(element)

    def handle(value: Any, path: Path, found: list[str] | None) -> Any:
        if type(value) is not dict:
            return value
        changed = value
        if None in value.values():
            changed = {key: _zero(element) if item is None else item for key, item in value.items()}
        if inner is None:
            return changed
        for key, item in changed.items():
            better = inner(item, (path, key), found)
            if better is not item:
                if changed is value:
                    changed = dict(value)
                changed[key] = better
        return changed

    return handle


def dotted(path: Path) -> str:
    """``spec.containers[0].foo``."""
    steps: list[str] = []
    while path is not None:
        path, step = path
        steps.append(f"[{step}]" if isinstance(step, int) else f".{step}")
    return "".join(reversed(steps)).removeprefix(".")
