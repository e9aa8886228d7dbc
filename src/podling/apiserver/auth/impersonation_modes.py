"""The ways in which one user may act as another, each with its own verbs.

Constrained impersonation needs the right to be a user (``impersonate:<mode>``), and to be it in such requests
(``impersonate-on:<mode>:<verb>``). The verb ``impersonate`` allows both without limits.

Upstream counterpart: ``staging/src/k8s.io/apiserver/pkg/endpoints/filters/impersonation/mode.go`` (KEP-5284).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import chain

from podling.apiserver.auth.authz import MASTERS, RbacAuthorizer, refusal
from podling.apiserver.auth.node_authorizer import PREFIX as NODE
from podling.apiserver.auth.rbac import Attributes
from podling.apiserver.auth.token_claims import NODE_NAME, service_account_user
from podling.apiserver.kinds.common.checks import domain_prefixed_path
from podling.client.requests import User
from podling.machinery import errors, fields
from podling.machinery.names import dns_label_errors, dns_subdomain_errors

ACCOUNT = "system:serviceaccount:"
AUTHENTICATED, UNAUTHENTICATED = "system:authenticated", "system:unauthenticated"
ANONYMOUS = "system:anonymous"
AUTHENTICATION = "authentication.k8s.io"
MANY = 4
"""From so many groups or extra values on, a right to all of them is looked for first."""


def allowed_user(user: User, wanted: User, asked: Attributes, authorizer: RbacAuthorizer) -> User:
    """Return ``wanted`` with the groups that every such user has. Raises 403 if ``user`` may not be it."""
    first = None
    for mode in _modes(user, wanted):
        try:
            _check_mode(mode, user, wanted, asked, authorizer)
        except errors.ApiError as error:
            first = first or error
        else:
            return _completed(wanted, is_constrained=True)
    try:
        for each in _legacy(wanted):
            _demand(user, each, authorizer)
    except errors.ApiError as error:
        raise first or error from None
    return _completed(wanted, is_constrained=False)


def _demand(user: User, asked: Attributes, authorizer: RbacAuthorizer) -> None:
    decision = authorizer.decide(user, asked)
    if not decision.allowed:
        raise refusal(user, asked, decision.reason)


def _modes(user: User, wanted: User) -> Iterator[str]:
    """The modes of constrained impersonation that serve such a user."""
    node, account = _node(wanted.name), _account(wanted.name)
    if not node and account is None:
        yield "user-info"
    elif not wanted.groups and not wanted.uid and not wanted.extra:
        if account is not None:
            yield "serviceaccount"
            return
        if _account(user.name) is not None and user.extra.get(NODE_NAME) == (node,):
            yield "associated-node"
        yield "arbitrary-node"


def _check_mode(mode: str, user: User, wanted: User, asked: Attributes, authorizer: RbacAuthorizer) -> None:
    node, account = _node(wanted.name), _account(wanted.name)
    verb = f"impersonate:{mode}"
    if mode == "associated-node":  # what is allowed depends on no single node: the user's own was checked
        extra = {"authentication.kubernetes.io/associated-node-keys": tuple(sorted(user.extra))}
        user, node = replace(user, extra=extra), "*"
    on_request = Attributes(
        f"impersonate-on:{mode}:{asked.verb}",
        asked.group,
        asked.resource,
        asked.subresource,
        asked.namespace,
        asked.name,
        asked.path,
    )
    _demand(user, on_request, authorizer)
    if node:
        _demand(user, Attributes(verb, AUTHENTICATION, "nodes", name=node), authorizer)
    elif account is not None:
        namespace, name = account
        one = Attributes(verb, AUTHENTICATION, "serviceaccounts", namespace=namespace, name=name)
        _demand(user, one, authorizer)
    else:
        _demand(user, Attributes(verb, AUTHENTICATION, "users", name=wanted.name), authorizer)
        if wanted.uid:
            _demand(user, Attributes(verb, AUTHENTICATION, "uids", name=wanted.uid), authorizer)
        _check_groups(verb, user, wanted.groups, authorizer)
        _check_extra(verb, user, wanted.extra, authorizer)


def _check_groups(verb: str, user: User, groups: tuple[str, ...], authorizer: RbacAuthorizer) -> None:
    for group, what in (("", "empty string"), (MASTERS, MASTERS)):
        if group in groups:
            asked = Attributes(verb, AUTHENTICATION, "groups", name=group)
            raise refusal(user, asked, f"impersonating the {what} group is not allowed")
    every = Attributes(verb, AUTHENTICATION, "groups", name="*")
    if len(groups) >= MANY and authorizer.decide(user, every).allowed:
        return
    for group in groups:
        _demand(user, Attributes(verb, AUTHENTICATION, "groups", name=group), authorizer)


def _check_extra(
    verb: str, user: User, extra: Mapping[str, tuple[str, ...]], authorizer: RbacAuthorizer
) -> None:
    problem = next(filter(None, (_extra_problem(key, values) for key, values in extra.items())), "")
    if problem:
        raise refusal(user, Attributes(verb, AUTHENTICATION, "userextras"), f"impersonating {problem}")
    every = Attributes(verb, AUTHENTICATION, "userextras", "*", name="*")
    number = max(len(extra), sum(map(len, extra.values())))
    if number >= MANY and authorizer.decide(user, every).allowed:
        return
    for key, values in extra.items():
        for value in values:
            _demand(user, Attributes(verb, AUTHENTICATION, "userextras", key, name=value), authorizer)


def _extra_problem(key: str, values: tuple[str, ...]) -> str:
    """Say what is wrong with a key and its values, which headers make lower-case and give at least one."""
    if not key:
        return "the empty string key in extra is not allowed"
    if found := domain_prefixed_path(fields.Path("extra.key"), key):
        return f"an invalid key in extra is not allowed: {fields.aggregate(found)}"
    return "the empty string value in extra is not allowed" if "" in values else ""


def _legacy(wanted: User) -> Iterator[Attributes]:
    """One question for each part of the other user."""
    verb = "impersonate"
    if (account := _account(wanted.name)) is not None:
        yield Attributes(verb, resource="serviceaccounts", namespace=account[0], name=account[1])
    else:
        yield Attributes(verb, resource="users", name=wanted.name)
    if wanted.uid:
        yield Attributes(verb, AUTHENTICATION, "uids", name=wanted.uid)
    for group in wanted.groups:
        yield Attributes(verb, resource="groups", name=group)
    for key, values in wanted.extra.items():
        for value in values:
            yield Attributes(verb, AUTHENTICATION, "userextras", key, name=value)


def _completed(wanted: User, *, is_constrained: bool) -> User:
    groups, account = wanted.groups, _account(wanted.name)
    if account is not None and not groups:
        groups = service_account_user(*account).groups
    elif is_constrained and _node(wanted.name):
        groups = ("system:nodes",)
    needed = UNAUTHENTICATED if wanted.name == ANONYMOUS else AUTHENTICATED
    if needed not in groups and UNAUTHENTICATED not in groups:
        groups = (*groups, needed)
    return User(wanted.name, groups, wanted.uid, wanted.extra)


def _node(user: str) -> str:
    """The node of a user name; empty if it is none's."""
    name = user.removeprefix(NODE)
    return name if name != user and not dns_subdomain_errors(name) else ""


def _account(user: str) -> tuple[str, str] | None:
    """The namespace and name of a service account's user name."""
    parts = user.removeprefix(ACCOUNT).split(":")
    if not user.startswith(ACCOUNT) or len(parts) != 2:
        return None
    namespace, name = parts
    wrong = chain(dns_label_errors(namespace), dns_subdomain_errors(name))
    return None if any(wrong) else (namespace, name)
