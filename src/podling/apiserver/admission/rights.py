"""Authorisation checks in CEL expressions: the server's own authorizer, for the user of the request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from podling.apiserver.admission.base import AdmissionRequest, Server
from podling.apiserver.auth.rbac import Attributes
from podling.client.requests import User
from podling.machinery.selectors import SelectorError, parse_field_selector
from podling.turns import on_this_loop

if TYPE_CHECKING:
    from podling.apiserver.cel.authorization import Decided, Question


def rights(request: AdmissionRequest, server: Server) -> dict[str, Any]:
    """``authorizer`` and ``authorizer.requestResource`` for the expressions about a request."""
    from podling.apiserver.cel.authorization import Check, Decided, Question
    from podling.apiserver.cel.environments import REQUEST_RESOURCE

    @on_this_loop
    def ask(question: Question) -> Decided:
        user = _account(*question.account) if question.account else request.user
        found = server.decide(user, _attributes(question))
        return Decided(found.allowed, found.reason)

    own = Question(
        group=request.resource.group,
        resource=request.resource.plural,
        subresource=request.subresource,
        namespace=request.within,
        name=request.asked_name,
    )
    return {"authorizer": Check(ask), REQUEST_RESOURCE: Check(ask, own)}


def _account(namespace: str, name: str) -> User:
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}")
    return User(f"system:serviceaccount:{namespace}:{name}", groups)


def _attributes(question: Question) -> Attributes:
    if question.path:
        return Attributes(question.verb, path=question.path)
    return Attributes(
        question.verb,
        question.group,
        question.resource,
        question.subresource,
        question.namespace,
        question.name,
        on_node=_node(question),
    )


def _node(question: Question) -> str:
    """Return the node to which a field selector limits the pods; label selectors grant no rights."""
    if question.resource != "pods" or not question.field_selector:
        return ""
    try:
        terms = parse_field_selector(question.field_selector).terms
    except SelectorError:
        return ""
    return next((each.value for each in terms if each.equal and each.field == "spec.nodeName"), "")
