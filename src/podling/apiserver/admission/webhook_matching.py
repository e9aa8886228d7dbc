"""Matching of requests to webhooks and policies: operations, resources, selectors, conditions. Pure.

Upstream: ``apiserver/pkg/admission/plugin/webhook/predicates`` and ``.../matchconditions``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from podling.api.admissionregistration_v1 import (
    MatchCondition,
    NamedRuleWithOperations,
    RuleWithOperations,
)
from podling.api.core_v1 import Namespace
from podling.api.meta_v1 import DeleteOptions, LabelSelector
from podling.apiserver.admission.base import AdmissionRequest, Objects, Server
from podling.apiserver.admission.forms import Form
from podling.apiserver.admission.rights import rights
from podling.machinery import selectors
from podling.machinery.encoding import codec
from podling.machinery.scheme import Resource

if TYPE_CHECKING:
    from podling.apiserver.cel.programs import Program

ALL = "*"
Find = Callable[[str], "Program"]
"""From an expression to its program; raises ``NotCompiled``."""


class ConditionFailed(Exception):
    """An expression that cannot be evaluated; the text says which, and why."""


def matched(
    rules: Sequence[RuleWithOperations | NamedRuleWithOperations],
    policy: str | None,
    request: AdmissionRequest,
    server: Server,
) -> Resource | None:
    """As what one of the rules names the request's operation and resource: itself, or under
    ``matchPolicy: Equivalent`` another version of it; None if no rule does."""
    if any(_in_rule(each, request, request.resource) for each in rules):
        return request.resource
    if policy != "Equivalent":
        return None
    own, part = request.resource, request.subresource
    others = [
        each
        for each in server.versions(own)
        if each.group_version != own.group_version and (not part or part in each.subresources)
    ]
    pairs = ((rule, other) for rule in rules for other in others)
    return next((other for rule, other in pairs if _in_rule(rule, request, other)), None)


def _in_rule(
    rule: RuleWithOperations | NamedRuleWithOperations, request: AdmissionRequest, resource: Resource
) -> bool:
    only = rule.resource_names if isinstance(rule, NamedRuleWithOperations) else ()
    return (
        (not only or request.asked_name in only)
        and _names(rule.operations, request.operation.value)
        and _names(rule.api_groups, resource.group)
        and _names(rule.api_versions, resource.version)
        and _in_scope(rule.scope or ALL, request)
        and any(_is_resource(each, resource.plural, request.subresource) for each in rule.resources)
    )


def _names(given: Sequence[str], wanted: str) -> bool:
    return ALL in given or wanted in given


def _in_scope(scope: str, request: AdmissionRequest) -> bool:
    namespaced = request.resource.namespaced
    return scope == ALL or scope == ("Namespaced" if namespaced else "Cluster")


def _is_resource(pattern: str, plural: str, subresource: str) -> bool:
    """``pods``, ``pods/status``, ``pods/*``, ``*/scale``, ``*`` and ``*/*``."""
    wanted, _, part = pattern.partition("/")
    return wanted in (ALL, plural) and part in (ALL, subresource)


def selected(
    namespaces: LabelSelector | None, own: LabelSelector | None, request: AdmissionRequest, objects: Objects
) -> bool:
    """Return whether the selectors match the request's namespace and its object, as it is or was."""
    if namespaces is not None and namespaces != LabelSelector():
        labels = _namespace_labels(request, objects)
        if labels is not None and not selectors.from_label_selector(namespaces).matches(labels):
            return False
    if own is None or own == LabelSelector():
        return True
    selector = selectors.from_label_selector(own)
    states = [each for each in (request.object, request.old) if hasattr(each, "metadata")]
    return any(selector.matches(each.metadata.labels) for each in states)


def _namespace_labels(request: AdmissionRequest, objects: Objects) -> Mapping[str, str] | None:
    """The labels of the namespace that a request is about, as it is or will be; None for what is in none."""
    if isinstance(request.object, Namespace) and not request.subresource:
        return request.object.metadata.labels
    if not request.within:
        return None
    found = objects.get(Namespace, request.within)
    return found.metadata.labels if found is not None else {}


def _kind(resource: Resource, subresource: str) -> dict[str, str]:
    """Return the kind of the body of requests for a resource or subresource."""
    part = resource.subresources.get(subresource) if subresource else None
    group, version, kind = resource.group, resource.version, resource.kind
    if part is not None:
        group, version, kind = part.group, part.version, part.kind
    return {"group": group, "version": version, "kind": kind}


def _named(resource: Resource) -> dict[str, str]:
    return {"group": resource.group, "version": resource.version, "resource": resource.plural}


def _options(request: AdmissionRequest) -> dict[str, Any] | None:
    """Return the options of a write as their kind has them."""
    options = request.options
    if options is None:
        return None
    kind = f"{request.operation.value.capitalize()}Options"
    found: dict[str, Any] = {"kind": kind, "apiVersion": "meta.k8s.io/v1"}
    if isinstance(options, DeleteOptions):
        return {**codec.to_plain(options), **found}
    given = {
        "dryRun": ["All"] if options.dry_run else None,
        "fieldManager": None if options.manager_implied else options.field_manager,
        "fieldValidation": options.field_validation,
    }
    return found | {name: value for name, value in given.items() if value}


def attributes(request: AdmissionRequest, resource: Resource) -> dict[str, Any]:
    """Return the request as expressions see it, and reviews but for its objects.

    ``resource``: as what a rule matched it.
    """
    subresource = request.subresource
    user = request.user
    found: dict[str, Any] = {
        "kind": _kind(resource, subresource),
        "resource": _named(resource),
        "requestKind": _kind(request.resource, subresource),
        "requestResource": _named(request.resource),
        "operation": request.operation.value,
        "userInfo": {"username": user.name, "groups": list(user.groups)},
        "dryRun": request.dry_run,
        "options": _options(request),
    }
    optional = {"name": request.asked_name, "namespace": request.within, "subResource": subresource}
    optional["requestSubResource"] = subresource
    found |= {name: value for name, value in optional.items() if value}
    if user.uid:
        found["userInfo"]["uid"] = user.uid
    if user.extra:
        found["userInfo"]["extra"] = {name: list(values) for name, values in user.extra.items()}
    return found


@lru_cache(maxsize=1024)
def program(text: str) -> Program:
    """Return a webhook's condition. Raises ``NotCompiled``."""
    from podling.apiserver.cel.environments import environment
    from podling.apiserver.cel.programs import Program

    return Program(text, environment())


def seen(request: AdmissionRequest, form: Form, server: Server, **more: Any) -> dict[str, Any]:
    """Return the values that expressions see."""
    return {
        "object": form.object,
        "oldObject": form.old,
        "request": attributes(request, form.resource),
        "namespaceObject": None,
        **rights(request, server),
        **more,
    }


def evaluated(text: str, find: Find, values: Mapping[str, Any], budget: list[int]) -> Any:
    """Return the value of an expression. Raises ``ConditionFailed``; ``OverBudget`` in a trial."""
    from podling.apiserver.cel.programs import Failure, NotCompiled, OverBudget, TrialBudget

    try:
        return find(text).evaluate(values, budget)
    except NotCompiled as error:
        raise ConditionFailed(f"compilation error: {error.said}") from None
    except (Failure, OverBudget) as error:
        if isinstance(error, OverBudget) and isinstance(budget, TrialBudget):
            raise
        raise ConditionFailed(f"expression '{text}' resulted in error: {error}") from None


def conditions_hold(
    conditions: Sequence[MatchCondition], find: Find, values: Mapping[str, Any], budget: list[int]
) -> bool:
    """Return whether all conditions hold. A false condition decides, even if others fail.

    ``find``: compiles their expressions. Raises ``ConditionFailed``; ``OverBudget`` in a trial.
    """
    failed: list[str] = []
    for each in conditions:
        try:
            if evaluated(each.expression, find, values, budget) is not True:
                return False
        except ConditionFailed as error:
            failed.append(str(error))
    if failed:
        raise ConditionFailed(failed[0] if len(failed) == 1 else f"[{', '.join(failed)}]")
    return True


def kind_of(value: Any) -> str:
    """Return CEL's name for the type of a value."""
    from podling.apiserver.cel.values import kind_of

    return kind_of(value)
