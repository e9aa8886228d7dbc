"""Strategic merge patch: a merge patch that knows from the types how lists merge.

Objects merge field by field and null deletes. A list whose field carries a merge key merges item by
item; a list of scalars that is marked for merging becomes a set; any other list is replaced. A patch
may also hold directives:

``$patch: replace`` or ``delete``  in an object: use the patch as it is, or empty the object; in an item
                                   of a merged list: replace the list by the other items, or delete the
                                   item with this key
``$deleteFromPrimitiveList/x``     scalars to take out of the list ``x``
``$setElementOrder/x``             the order that the items of ``x`` should have
``$retainKeys``                    the only fields of this object that stay: unions

Source of the rules and messages: ``apimachinery/pkg/util/strategicpatch`` and ``mergepatch``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

from podling.machinery.encoding.plain import copied, go_text, json_type
from podling.machinery.encoding.shapes import ANYTHING, Kind, Shape, fields_of, shape_of
from podling.machinery.errors import ApiError, bad_request, failure, unfit_patch

DIRECTIVE = "$patch"
RETAIN_KEYS = "$retainKeys"
DELETE_PREFIX = "$deleteFromPrimitiveList/"
ORDER_PREFIX = "$setElementOrder/"

_BAD_RETAIN_KEYS = "invalid patch format of retainKeys"
_BAD_PRIMITIVE_LIST = "invalid patch format of primitive list"
_BAD_ORDER = "invalid patch format of setElementOrder list"


def strategic_merge_patch(plain: Any, patch: Any, type_: type[Any], *, fresh: bool = False) -> dict[str, Any]:
    """Return ``plain`` (an object of ``type_``) after ``patch``. Neither is changed.

    ``fresh``: the document belongs to the caller alone, and the result may have its parts.
    Raises ``ApiError``: 400 for a malformed patch, 422 for one that does not fit, 500 for one that says
    nonsense.
    """
    if patch is None:
        return dict(copied(plain))
    if not isinstance(patch, dict):
        raise bad_request(
            f"json: cannot unmarshal {json_type(patch)} into Go value of type map[string]interface {{}}"
        )
    return _merge_object(plain if fresh else copied(plain), patch, shape_of(type_))


def _unknown(message: str) -> ApiError:
    """500: Kubernetes has no name for these errors, though it is the patch that is wrong."""
    return failure(500, "", message)


def _field(shape: Shape, name: str) -> Shape:
    """Return the shape of a field; what the types do not know merges like plain JSON."""
    if shape.kind is Kind.STRUCT and shape.struct:
        return fields_of(shape.struct).get(name, ANYTHING)
    return shape.element or ANYTHING if shape.kind is Kind.MAP else ANYTHING


def _merge_object(original: dict[str, Any], patch: dict[str, Any], shape: Shape) -> dict[str, Any]:
    if DIRECTIVE in patch:
        return _directed(patch)
    result = _retained(original, patch)
    ordered = {key.removeprefix(ORDER_PREFIX) for key in patch if key.startswith(ORDER_PREFIX)}
    for name in sorted(ordered):
        _merge_ordered(result, patch, name, _field(shape, name))
    for key, value in patch.items():
        if key == RETAIN_KEYS or key.startswith(ORDER_PREFIX) or key in ordered:
            continue
        if key.startswith(DELETE_PREFIX):
            _delete_scalars(result, key.removeprefix(DELETE_PREFIX), value)
        elif value is None:
            result.pop(key, None)
        else:
            result[key] = _merge_value(result.get(key), value, _field(shape, key))
    return result


def _directed(patch: dict[str, Any]) -> dict[str, Any]:
    directive = patch[DIRECTIVE]
    if directive == "replace":
        replaced: dict[str, Any] = _fresh(patch)
        return replaced
    if directive == "delete":
        return {}
    raise _unknown(f"unknown patch type: {directive} in map: {go_text(patch)}")


def _retained(original: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of the original that stay, as ``$retainKeys`` says."""
    keep = patch.get(RETAIN_KEYS)
    if RETAIN_KEYS not in patch:
        return dict(original)
    if not isinstance(keep, list) or not all(isinstance(key, str) for key in keep):
        raise bad_request(_BAD_RETAIN_KEYS)
    given = {key for key, value in patch.items() if value is not None and not _is_directive(key)}
    if not given <= set(keep):
        raise unfit_patch("patch content doesn't match retainKeys list")
    return {key: value for key, value in original.items() if key in keep}


def _merge_value(original: Any, patch: Any, shape: Shape) -> Any:
    if isinstance(patch, dict) and isinstance(original, dict):
        return _merge_object(original, patch, shape)
    if isinstance(patch, list) and isinstance(original, list) and shape.merge_key is not None:
        return _merge_list(original, patch, shape)
    return _fresh(patch)


def _merge_list(original: list[Any], patch: list[Any], shape: Shape) -> list[Any]:
    """Merge by key, then put the items in the patch's order, others near where they were."""
    merged = _merged_items(original, patch, shape)
    return _in_order(merged, patch, original, _identity(shape, original, patch))


def _merged_items(original: list[Any], patch: list[Any], shape: Shape) -> list[Any]:
    if not _holds_objects(original, patch):
        return _unique([*original, *patch])
    if not shape.merge_key:
        raise _unknown("cannot merge lists without merge key")
    items = _without_special(original, patch, shape.merge_key)
    element = shape.element or ANYTHING
    positions: dict[Any, int] = {}
    for at, each in enumerate(items):
        positions.setdefault(_hashable(each.get(shape.merge_key)), at)
    for item in patch:
        if DIRECTIVE in item:
            continue
        value = _hashable(_key_of(item, shape.merge_key))
        position = positions.get(value)
        if position is None:
            positions[value] = len(items)
            items.append(_fresh(item))
        else:
            items[position] = _merge_object(items[position], item, element)
    return items


def _holds_objects(original: list[Any], patch: list[Any]) -> bool:
    kinds = {type(item) for item in (*original, *patch)}
    if list in kinds:
        raise unfit_patch("lists of lists are not supported")
    if dict in kinds and len(kinds) > 1:
        raise _unknown("list element types are not identical")
    return dict in kinds


def _without_special(original: list[Any], patch: list[Any], merge_key: str) -> list[Any]:
    """Return the original's items after the patch's ``$patch`` items took effect."""
    deleted = set()
    for item in patch:
        match item.get(DIRECTIVE):
            case None:
                _key_of(item, merge_key)
            case "delete":
                deleted.add(_hashable(_key_of(item, merge_key)))
            case "replace":
                return []
            case "merge":
                raise _unknown("merging lists cannot yet be specified in the patch")
            case unknown:
                raise _unknown(f"unknown patch type: {unknown} in map: {go_text(item)}")
    return [each for each in original if _hashable(each.get(merge_key)) not in deleted]


def _key_of(item: dict[str, Any], merge_key: str) -> Any:
    if merge_key not in item:
        raise _unknown(f"map: {go_text(item)} does not contain declared merge key: {merge_key}")
    return item[merge_key]


def _identity(shape: Shape, *lists: list[Any]) -> Callable[[Any], Any]:
    """Return the key by which two items of a list are the same."""
    key = shape.merge_key
    if any(isinstance(item, dict) for items in lists for item in items):
        return lambda item: item.get(key) if isinstance(item, dict) else item
    return lambda item: item


def _in_order(
    merged: list[Any], order: list[Any], original: list[Any], identity: Callable[[Any], Any]
) -> list[Any]:
    """Items that ``order`` names in that order, the others among them where ``original`` had them.

    An item that is not named goes before the first named item that stood behind it in the original;
    the order among the named, and among the others, is never changed.
    """
    wanted = _positions(order, identity)
    before = _positions(original, identity)
    named = [item for item in merged if _hashable(identity(item)) in wanted]
    rest = [item for item in merged if _hashable(identity(item)) not in wanted]
    named.sort(key=lambda item: wanted[_hashable(identity(item))])
    others = deque(sorted(rest, key=lambda item: before.get(_hashable(identity(item)), -1)))
    result: list[Any] = []
    for item in named:
        place = before.get(_hashable(identity(item)))
        while place is not None and others and before.get(_hashable(identity(others[0])), place) < place:
            result.append(others.popleft())
        result.append(item)
    return [*result, *others]


def _positions(items: list[Any], identity: Callable[[Any], Any]) -> dict[Any, int]:
    found: dict[Any, int] = {}
    for position, item in enumerate(items):
        found.setdefault(_hashable(identity(item)), position)
    return found


def _hashable(value: Any) -> Any:
    return str(value) if isinstance(value, dict | list) else (type(value), value)


def _unique(items: list[Any]) -> list[Any]:
    found: dict[Any, Any] = {}
    for item in items:
        found.setdefault(_hashable(item), item)
    return list(found.values())


def _merge_ordered(result: dict[str, Any], patch: dict[str, Any], name: str, shape: Shape) -> None:
    """Merge the list ``name`` with the patch's, and order it as ``$setElementOrder`` says."""
    order = patch[ORDER_PREFIX + name]
    if not isinstance(order, list):
        raise bad_request(_BAD_ORDER)
    items = patch.get(name)
    original = result.get(name)
    if items is None and original is None:
        return
    before = original if isinstance(original, list) else []
    if not isinstance(items, list | None):
        raise bad_request(_BAD_ORDER)
    identity = _identity(shape, order, before)
    if items is not None:
        _check_order(items, order, identity)
    if items is None:
        merged = list(before)
    elif original is None or shape.merge_key is None:
        merged = _fresh(items)
    else:
        merged = _merged_items(before, items, shape)
    result[name] = _in_order(merged, order, before, identity)


def _check_order(items: list[Any], order: list[Any], identity: Callable[[Any], Any]) -> None:
    """Check that items which a patch adds or changes have the order of ``$setElementOrder``."""
    wanted = _positions(order, identity)
    kept = [item for item in items if not (isinstance(item, dict) and DIRECTIVE in item)]
    places = [wanted.get(_hashable(identity(item))) for item in kept]
    known = [place for place in places if place is not None]
    if len(known) != len(places) or known != sorted(known):
        texts = f"{go_text(items)}\n doesn't match {ORDER_PREFIX[:-1]} list:\n{go_text(order)}"
        raise _unknown(f"The order in patch list:\n{texts}\n")


def _delete_scalars(result: dict[str, Any], name: str, unwanted: Any) -> None:
    if not isinstance(unwanted, list):
        raise bad_request(_BAD_PRIMITIVE_LIST)
    if isinstance(result.get(name), list):
        gone = {_hashable(item) for item in unwanted}
        result[name] = [item for item in result[name] if _hashable(item) not in gone]


def _fresh(patch: Any) -> Any:
    """Return a patch's value where the original has none: without nulls and without directives."""
    if isinstance(patch, dict):
        return {
            key: _fresh(value) for key, value in patch.items() if value is not None and not _is_directive(key)
        }
    if isinstance(patch, list):
        return [_fresh(item) for item in patch if not (isinstance(item, dict) and DIRECTIVE in item)]
    return patch


def _is_directive(key: str) -> bool:
    return key in (DIRECTIVE, RETAIN_KEYS) or key.startswith((DELETE_PREFIX, ORDER_PREFIX))
