"""``authorizer``: checks of rights in expressions of admission.

    authorizer.group('apps').resource('deployments').namespace('x').check('create').allowed()
    authorizer.path('/metrics').check('get').allowed()
    authorizer.serviceAccount('default', 'robot').requestResource ...

Names and meaning: ``k8s.io/apiserver/pkg/cel/library/authz.go``. Loaded by ``environments``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from podling.apiserver.cel.functions import add
from podling.apiserver.cel.types import Type
from podling.machinery import names

AUTHORIZER, PATH_CHECK = "kubernetes.authorization.Authorizer", "kubernetes.authorization.PathCheck"
GROUP_CHECK, RESOURCE_CHECK = "kubernetes.authorization.GroupCheck", "kubernetes.authorization.ResourceCheck"
DECISION = "kubernetes.authorization.Decision"

AUTHORIZER_TYPE, RESOURCE_CHECK_TYPE = Type(AUTHORIZER), Type(RESOURCE_CHECK)


@dataclass(frozen=True, slots=True)
class Question:
    """A check of rights: a verb on a resource, or on a path when that is set.

    ``account``: the service account to check, with its namespace first; empty for the user of the request.
    """

    account: tuple[str, str] | tuple[()] = ()
    verb: str = ""
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""


@dataclass(frozen=True, slots=True)
class Decided:
    """The answer; ``error`` is empty unless it could not be found out."""

    allowed: bool
    reason: str = ""
    error: str = ""


Ask = Callable[[Question], Decided]


@dataclass(frozen=True, slots=True)
class Check:
    """A check being built, and the function that decides it."""

    ask: Ask = field(compare=False)
    question: Question = Question()


def _with(name: str) -> Callable[[Check, str], Check]:
    def put(check: Check, value: str) -> Check:
        part: dict[str, Any] = {name: value}
        return replace(check, question=replace(check.question, **part))

    return put


def _given(name: str) -> Callable[[Check, str], Check]:
    put = _with(name)

    def given(check: Check, value: str) -> Check:
        if not value.strip():
            raise ValueError(f"{name} must not be empty")
        return put(check, value)

    return given


def _service_account(check: Check, namespace: str, name: str) -> Check:
    if names.dns_subdomain_errors(name):
        raise ValueError("Invalid service account name")
    if names.dns_label_errors(namespace):
        raise ValueError("Invalid service account namespace")
    return replace(check, question=replace(check.question, account=(namespace, name)))


def _checked(check: Check, verb: str) -> Decided:
    return check.ask(replace(check.question, verb=verb))


def _functions() -> None:
    add("path", AUTHORIZER, "string", PATH_CHECK, _given("path"))
    add("group", AUTHORIZER, "string", GROUP_CHECK, _with("group"))
    add("serviceAccount", AUTHORIZER, "string string", AUTHORIZER, _service_account)
    add("resource", GROUP_CHECK, "string", RESOURCE_CHECK, _given("resource"))
    for name in ("subresource", "namespace", "name"):
        add(name, RESOURCE_CHECK, "string", RESOURCE_CHECK, _with(name))
    add("fieldSelector", RESOURCE_CHECK, "string", RESOURCE_CHECK, _with("field_selector"))
    add("labelSelector", RESOURCE_CHECK, "string", RESOURCE_CHECK, _with("label_selector"))
    for check in (PATH_CHECK, RESOURCE_CHECK):
        add("check", check, "string", DECISION, _checked)
    parts: list[tuple[str, str, Callable[[Decided], Any]]] = [
        ("allowed", "bool", lambda found: found.allowed),
        ("reason", "string", lambda found: found.reason),
        ("errored", "bool", lambda found: bool(found.error)),
        ("error", "string", lambda found: found.error),
    ]
    for name, result, part in parts:
        add(name, DECISION, "", result, part)


_functions()
