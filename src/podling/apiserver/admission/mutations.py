"""The two kinds of mutation of a mutating policy: an apply configuration, and a JSON patch.

An apply configuration is merged into the object as by a server-side apply, but its fields get no manager, and
it may not set atomic fields. A JSON patch whose test fails leaves the object as it is.

Upstream: ``apiserver/pkg/admission/plugin/policy/mutating/patch``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from podling.api.admissionregistration_v1 import Mutation
from podling.apiserver.admission import webhook_matching as matching
from podling.apiserver.admission.expression_turns import NewBudget, evaluated_in_turn
from podling.machinery.errors import ApiError

if TYPE_CHECKING:
    from podling.apiserver.cel.policies import PolicyExpressions


class MutationFailed(Exception):
    """A mutation that cannot be evaluated, or not be done to this object."""


async def mutated(
    mutation: Mutation,
    obj: dict[str, Any],
    kind: type[Any],
    expressions: PolicyExpressions,
    values: dict[str, Any],
) -> dict[str, Any]:
    """``obj`` after a mutation. Raises ``MutationFailed``."""
    applies = mutation.patch_type == "ApplyConfiguration"
    patch = mutation.apply_configuration if applies else mutation.json_patch
    text = (patch.expression if patch is not None else "") or ""

    def made(new_budget: NewBudget) -> Any:
        budget = new_budget()
        seen = {**values}
        seen["variables"] = expressions.lazily(seen, budget)
        return matching.evaluated(text, expressions.program, seen, budget)

    try:
        value = await evaluated_in_turn(made)
    except matching.ConditionFailed as error:
        raise MutationFailed(str(error)) from None
    return _applied(value, obj, kind) if applies else _patched(value, obj)


def _applied(made: Any, obj: dict[str, Any], kind: type[Any]) -> dict[str, Any]:
    from podling.apiserver.cel.mutations import plain
    from podling.machinery.encoding import intake
    from podling.machinery.encoding.mismatch import Mismatch
    from podling.machinery.patches import apply
    from podling.machinery.patches.fieldsets import SchemaError

    _check_places(made)
    configuration: dict[str, Any] = plain(made)
    head = {name: obj[name] for name in ("apiVersion", "kind") if name in obj}
    try:
        intent, _ = intake.normalized({**configuration, **head}, kind, "Ignore")
        if places := apply.atomics(intent, kind):
            what = "may not mutate atomic arrays, maps or structs"
            raise MutationFailed(
                f"error applying patch: invalid ApplyConfiguration: {what}: {', '.join(places)}"
            )
        merged: dict[str, Any] = apply.merged(obj, intent, kind)
    except (SchemaError, Mismatch, ApiError) as error:
        why = f"failed to convert patch object to typed object: {error}"
        raise MutationFailed(f"error applying patch: {why}") from None
    return merged


def _check_places(made: Any, place: str = "Object") -> None:
    from podling.apiserver.cel.mutations import misplaced

    if wrong := list(misplaced(made, place)):
        raise MutationFailed("type mismatch: " + "\n".join(wrong))


def _patched(made: Any, obj: dict[str, Any]) -> dict[str, Any]:
    from podling.machinery.patches import patch

    if not isinstance(made, list):
        raise MutationFailed("type mismatch: JSONPatchType.expression should evaluate to array")
    operations = [_operation(each) for each in made]
    try:
        found: dict[str, Any] = patch.json_patch(obj, operations, tested=True)
    except ApiError as error:
        notes = getattr(error, "__notes__", None) or [str(error)]
        raise MutationFailed(f"JSONPath: {notes[0]}") from None
    return found


def _operation(made: Any) -> Mapping[str, Any]:
    from podling.apiserver.cel.mutations import JSON_PATCH, plain
    from podling.apiserver.cel.values import Made

    if not isinstance(made, Made) or made.type != JSON_PATCH:
        text = "type mismatch: JSONPatchType.expression should evaluate to array of JSONPatch"
        raise MutationFailed(f"{text}, got element of {matching.kind_of(made)}")
    value = made.get("value")
    if isinstance(value, Made):
        _check_places(value, value.type)
    return {name: plain(item) for name, item in made.items()}
