"""Sets of fields: those that a manager owns, and those that a change touches (server-side apply).

A field is a path of elements, written as ``fieldsV1`` writes them: ``f:spec`` names a field or a key
of a map, ``k:{"name":"a"}`` an item of a list by its key fields, ``v:"x"`` an item of a set. A set of
fields is a plain frozenset of such paths, so owning, taking and losing fields is set arithmetic.

Values without parts are leaves: scalars, atomic structs, maps and lists, free-form JSON, and everything
empty. Source of the rules: ``sigs.k8s.io/structured-merge-diff``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from podling.machinery.encoding.plain import equal
from podling.machinery.encoding.shapes import ANYTHING, Kind, Shape, fields_of

Path = tuple[str, ...]
FieldSet = frozenset[Path]

NOTHING: FieldSet = frozenset()
_KEY_DEFAULTS = {"protocol": "TCP"}
"""Key fields that may be left out, because the schema gives them a default."""
_NO_MEMBER: dict[type[Any], str] = {
    dict: "associative list without keys has an element that's a map type",
    list: "not supported: associative list with lists as elements",
}
_NULL_MEMBER = "associative list without keys has an element that's an explicit null"


class SchemaError(ValueError):
    """An object that the types cannot describe; the text is upstream's."""


class ItemError(ValueError):
    """An item that has no place in its list; the text is upstream's."""


def is_leaf(value: Any, shape: Shape) -> bool:
    """Return whether a value is owned as one."""
    if shape.kind is Kind.STRUCT or shape.kind is Kind.MAP:
        return shape.atomic or not isinstance(value, dict)
    if shape.kind is Kind.LIST:
        return not (shape.map_keys or shape.is_set) or not isinstance(value, list)
    return True


def parts(value: Any, shape: Shape, path: Path) -> Iterator[tuple[str, Any, Shape]]:
    """Yield the parts of a value that is no leaf: path element, value and shape of each.

    Raises SchemaError for a field that the type does not have, and for an item without its key.
    """
    if shape.kind is not Kind.LIST:
        shape_of = shapes_of(shape)
        for name, item in value.items():
            inner = shape_of(name)
            if inner is None:
                raise undeclared((*path, f"f:{name}"))
            yield f"f:{name}", item, inner
    else:
        for index, item in enumerate(value):
            yield item_element(item, index, shape, path), item, shape.element or ANYTHING


def shapes_of(shape: Shape) -> Callable[[str], Shape | None]:
    """The shape of each field of a STRUCT or of each value of a MAP, by name; None for what cannot be."""
    if shape.kind is Kind.MAP:
        element = shape.element or ANYTHING
        return lambda name: element
    shapes = fields_of(shape.struct) if shape.fields is None and shape.struct else shape.fields or {}
    if shape.rest is None:
        return shapes.get
    rest = shape.rest
    return lambda name: shapes.get(name, rest)


def undeclared(path: Path) -> SchemaError:
    """Return the error of a field that the type does not have."""
    return SchemaError(f"{text_of(path)}: field not declared in schema")


def item_element(item: Any, index: int, shape: Shape, path: Path) -> str:
    """Return the element of an item of the list at ``path``. Raises SchemaError if it has none."""
    try:
        return element_of(item, shape)
    except ItemError as error:
        raise SchemaError(f"{text_of(path)}: element {index}: {error}") from None


def element_of(item: Any, shape: Shape) -> str:
    """Return the element of an item of a keyed list or a set. Raises ItemError if it has none."""
    if not shape.map_keys:
        if item is None or isinstance(item, dict | list):
            raise ItemError(_NO_MEMBER.get(type(item), _NULL_MEMBER))
        return "v:" + _compact(item)
    if not isinstance(item, dict):
        what = "non-map elements" if item is not None else "a null element"
        raise ItemError(f"associative list with keys may not have {what}")
    # A key that an item leaves out, and that has no default, still distinguishes it from others.
    keys = {}
    for name in shape.map_keys:
        found = item.get(name, _KEY_DEFAULTS.get(name))
        if found is not None:
            keys[name] = found
    if not keys:
        named = " ".join(f'"{name}"' for name in shape.map_keys)
        raise ItemError(
            f"associative list with keys has an element that omits all key fields [{named}] "
            "(and doesn't have default values for any key fields)"
        )
    return "k:" + _compact(keys)


def _compact(value: Any) -> str:
    return msgspec.json.encode(value, order="sorted").decode()


def fields_in(value: Any, shape: Shape, path: Path = ()) -> FieldSet:
    """Return every field that an applied object names. Raises SchemaError."""
    return frozenset(_walk(value, shape, path))


def _walk(value: Any, shape: Shape, path: Path) -> Iterator[Path]:
    if is_leaf(value, shape):
        yield path
        return
    seen = set[str]()
    for element, item, inner in parts(value, shape, path):
        if element in seen:
            raise SchemaError(f"{text_of(path)}: duplicate entries for key {text_of((element,))}")
        seen.add(element)
        below = (*path, element)
        yield from _walk(item, inner, below)
        # Items of lists and maps are owned as such, structs only through their fields.
        if not element.startswith("f:") or shape.kind is Kind.MAP or item is None or item == {}:
            yield below


def atomics(value: Any, shape: Shape, path: str = "") -> Iterator[str]:
    """The places in a value whose type can only be replaced as a whole: ``.spec.containers[0].command``."""
    if isinstance(value, dict) and shape.kind in (Kind.STRUCT, Kind.MAP):
        if shape.atomic:
            yield path
        shape_of = shapes_of(shape)
        for name, item in value.items():
            yield from atomics(item, shape_of(name) or ANYTHING, f"{path}.{name}")
    elif isinstance(value, list) and shape.kind is Kind.LIST:
        if not (shape.map_keys or shape.is_set):
            yield path
        for index, item in enumerate(value):
            yield from atomics(item, shape.element or ANYTHING, f"{path}[{index}]")


@dataclass(slots=True)
class Comparison:
    """Return the fields that differ between two objects."""

    added: set[Path] = field(default_factory=set)
    modified: set[Path] = field(default_factory=set)
    removed: set[Path] = field(default_factory=set)

    @property
    def same(self) -> bool:
        return not (self.added or self.modified or self.removed)


_MISSING: Any = object()


def compare(old: Any, new: Any, shape: Shape) -> Comparison:
    """Return the fields that ``new`` has and ``old`` has not, has otherwise, or has no more."""
    found = Comparison()
    _compare(old, new, shape, (), found)
    return found


def _compare(old: Any, new: Any, shape: Shape, path: Path, found: Comparison) -> None:
    if old is _MISSING:
        found.added.add(path)
    elif new is _MISSING:
        found.removed.add(path)
    elif old == new:
        return
    sides = [side for side in (old, new) if side is not _MISSING]
    if any(is_leaf(side, shape) for side in sides) or not any(sides):
        if len(sides) == 2 and not equal(old, new):
            found.modified.add(path)
        return
    before = _by_element(old, shape, path)
    after = _by_element(new, shape, path)
    for element in dict.fromkeys((*before, *after)):
        left, right = before.get(element), after.get(element)
        inner = left[1] if left else right[1] if right else ANYTHING
        below = (*path, element)
        _compare(left[0] if left else _MISSING, right[0] if right else _MISSING, inner, below, found)


def _by_element(value: Any, shape: Shape, path: Path) -> Mapping[str, tuple[Any, Shape]]:
    if value is _MISSING:
        return {}
    found: dict[str, tuple[Any, Shape]] = {}
    for element, item, inner in parts(value, shape, path):
        # Stored lists may hold two items with one key (a variable set twice): together they are one leaf.
        found[element] = ([found[element][0], item], ANYTHING) if element in found else (item, inner)
    return found


def with_named_parents(fields: Iterable[Path]) -> FieldSet:
    """Return the fields, and every struct and map that they are in."""
    found: set[Path] = set()
    for path in fields:
        found.add(path)
        found.update(path[:end] for end in range(1, len(path)) if path[end - 1].startswith("f:"))
    return frozenset(found)


def without(value: Any, shape: Shape, gone: FieldSet, path: Path = ()) -> Any:
    """Return the value without the parts in ``gone`` and all inside of them."""
    if is_leaf(value, shape):
        return value
    kept = []
    for element, item, inner in parts(value, shape, path):
        below = (*path, element)
        if below not in gone:
            kept.append((element, without(item, inner, gone, below)))
    if isinstance(value, list):
        return [item for _, item in kept]
    return {element[2:]: item for element, item in kept}


def encode(fields: Iterable[Path]) -> dict[str, Any]:
    """Return the ``fieldsV1`` tree: a dot marks an inner node that is itself in the set."""
    tree: dict[str, Any] = {}
    for path in sorted(fields):
        node = tree
        for element in path:
            node = node.setdefault(element, {})
        node["."] = {}
    _fold(tree)
    return tree


def _fold(node: dict[str, Any]) -> None:
    for element, below in node.items():
        if element != ".":
            _fold(below)
    if len(node) == 1:
        node.pop(".", None)


def decode(tree: Mapping[str, Any]) -> FieldSet:
    """Return the set that a ``fieldsV1`` tree describes. Raises SchemaError for a malformed one."""
    found: set[Path] = set()
    todo: list[tuple[Path, Any]] = [((), tree)]
    while todo:
        path, node = todo.pop()
        if not isinstance(node, Mapping):
            raise SchemaError("fieldsV1 is not an object of objects")
        if path and (not node or "." in node):
            found.add(path)
        for element, below in node.items():
            if element != ".":
                _check_element(element)
                todo.append(((*path, element), below))
    return frozenset(found)


def _check_element(element: str) -> None:
    if element[:2] in ("k:", "v:", "i:"):
        try:
            json.loads(element[2:])
        except ValueError:
            raise SchemaError(f"invalid path element {element!r}") from None
    elif element[:2] != "f:":
        raise SchemaError(f"invalid path element {element!r}")


def text_of(path: Path) -> str:
    """Return a field's path as messages show it: ``.spec.containers[name="a"].image``."""
    steps = []
    for element in path:
        kind, rest = element[:2], element[2:]
        if kind == "f:":
            steps.append(f".{rest}")
        elif kind == "k:":
            pairs = (f"{name}={_compact(value)}" for name, value in json.loads(rest).items())
            steps.append(f"[{','.join(pairs)}]")
        else:
            steps.append(f"[={rest}]" if kind == "v:" else f"[{rest}]")
    return "".join(steps)
