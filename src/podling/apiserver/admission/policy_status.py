"""Type checking for the status of validating policies: whether the expressions fit the matched kinds.

When a policy is written, its expressions are checked against the fields that every object has. Here they are
checked against the types of the kinds that its rules name explicitly. A mismatch is only a warning: the
policy's decisions stay the same.

Upstream: ``apiserver/pkg/admission/plugin/policy/validating/typechecking.go`` and the controller
``validatingadmissionpolicy-status``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import TYPE_CHECKING

from msgspec import structs

from podling.api.admissionregistration_v1 import (
    ExpressionWarning,
    TypeChecking,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicySpec,
)
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.background_tasks import changed, keep_at
from podling.client.local import LocalClient
from podling.machinery.encoding.custom import CustomResource
from podling.machinery.errors import ApiError, is_conflict, is_not_found
from podling.machinery.scheme import Resource, split_group_version

if TYPE_CHECKING:
    from podling.apiserver.cel.types import Type

MAX_TYPES = 10
RETRY_SECONDS = 5.0


@dataclass(frozen=True)
class Kinds:
    """Look-up of the kinds that policies name: by group, version and plural, or kind."""

    by_path: Callable[[str, str, str], Resource | None]
    by_kind: Callable[[str, str, str], Resource | None]


class PolicyStatus:
    """Keeps the status of every policy, until cancelled."""

    def __init__(self, client: LocalClient, kinds: Kinds) -> None:
        self._client, self._kinds = client, kinds

    async def run(self) -> None:
        await keep_at(self._follow, "validating admission policies", seconds=RETRY_SECONDS)

    async def _follow(self) -> None:
        listing = await self._client.list(ValidatingAdmissionPolicy)
        for policy in listing.items:
            if (policy.status.observed_generation or 0) < (policy.metadata.generation or 0):
                await self._show(policy)
        await changed(self._client, ValidatingAdmissionPolicy, listing.resource_version, within=None)

    async def _show(self, policy: ValidatingAdmissionPolicy) -> None:
        status = structs.replace(
            policy.status,
            observed_generation=policy.metadata.generation,
            type_checking=TypeChecking(expression_warnings=expression_warnings(policy.spec, self._kinds)),
        )
        try:
            await self._client.update(structs.replace(policy, status=status), subresource="status")
        except ApiError as error:
            if not (is_conflict(error) or is_not_found(error)):
                raise


def expression_warnings(spec: ValidatingAdmissionPolicySpec, known: Kinds) -> tuple[ExpressionWarning, ...]:
    """Return a warning for each expression that does not fit a kind."""
    kinds = kinds_to_check(spec, known)
    found: list[ExpressionWarning] = []
    for position, validation in enumerate(spec.validations):
        for name, text in (
            ("expression", validation.expression),
            ("messageExpression", validation.message_expression),
        ):
            warning = "\n".join(_misfits(text, spec, kinds, known)) if text else ""
            if warning:
                where = f"spec.validations[{position}].{name}"
                found.append(ExpressionWarning(field_ref=where, warning=warning))
    return tuple(found)


def _misfits(
    text: str, spec: ValidatingAdmissionPolicySpec, kinds: Sequence[Resource], known: Kinds
) -> Iterator[str]:
    from podling.apiserver.cel.policies import PolicyExpressions
    from podling.apiserver.cel.programs import NotCompiled
    from podling.apiserver.cel.types import DYN

    params = None
    if spec.param_kind is not None:
        group, version = split_group_version(spec.param_kind.api_version or "")
        resource = known.by_kind(group, version, spec.param_kind.kind or "")
        params = _type_of(resource) if resource is not None else DYN
    variables = [(each.name, each.expression) for each in spec.variables]
    for resource in kinds:
        typed = PolicyExpressions(variables, params=params, objects=_type_of(resource))
        try:
            typed.program(text)
        except NotCompiled as problem:
            yield f"{resource.group}/{resource.version}, Kind={resource.kind}: {problem}\n"


def _type_of(resource: Resource) -> Type:
    """Return the CEL type of a resource's objects, with all of their metadata."""
    from podling.apiserver.cel.shape_types import type_of_kind
    from podling.apiserver.cel.types import DYN, Field
    from podling.apiserver.customresources.completion import RootSchema
    from podling.apiserver.customresources.schema_types import schema_type

    if not isinstance(resource, CustomResource):
        return type_of_kind(resource.type)
    schema = resource.schema
    if not isinstance(schema, RootSchema):
        return DYN
    found = schema_type(schema.root, label=resource.kind, root=True) or DYN
    return replace(found, fields={**found.fields, "metadata": Field("metadata", type_of_kind(ObjectMeta))})


def kinds_to_check(spec: ValidatingAdmissionPolicySpec, known: Kinds) -> tuple[Resource, ...]:
    """Return the resources that the rules name outright, in the order of their kinds; not all of many."""
    found: dict[tuple[str, str, str], Resource] = {}
    for rule in spec.match_constraints.resource_rules if spec.match_constraints is not None else ():
        if any("*" in each for each in (*rule.api_groups, *rule.api_versions)):
            continue
        plurals = sorted(each for each in rule.resources if not {"*", "/"} & set(each))
        for names in product(sorted(rule.api_groups), sorted(rule.api_versions), plurals):
            resource = known.by_path(*names)
            if resource is not None and len(found) < MAX_TYPES:
                found[resource.group, resource.version, resource.kind] = resource
    return tuple(each for _, each in sorted(found.items(), key=lambda item: item[0]))
