"""Authorisation: may this user do that?

Members of ``system:masters`` may do everything; for everyone else the stored roles and bindings decide, and
for kubelets what their pods need. What nothing allows is refused, in Kubernetes' words.
"""

from __future__ import annotations

import html
import json
from collections.abc import Mapping

from msgspec import Struct

from podling.apiserver.auth.component_roles import NODE_RULES, gated_rules
from podling.apiserver.auth.node_authorizer import NodeAuthorizer, node_of
from podling.apiserver.auth.node_references import NodeReferences
from podling.apiserver.auth.rbac import Attributes, RbacIndex, rule_allows
from podling.client.requests import Target, User
from podling.machinery import errors
from podling.machinery.feature_gates import NO_GATES
from podling.machinery.fields import aggregate
from podling.machinery.selectors import SelectorError, parse_field_selector
from podling.machinery.text_cache import cached_by_text

MASTERS = "system:masters"
READS = ("get", "list", "watch")
CACHE_LIMIT = 16_384
"""Answers remembered before the cache starts afresh."""


WRITES_BEHIND = 256
"""Number of writes after which the followed roles and references are updated, even without a request."""


class Decision(Struct, frozen=True):
    allowed: bool
    reason: str = ""


SELECTOR_MAX = 2048
"""A longer field selector names no single object, and is not read for a client that may not send it."""


def attributes_of(verb: str, target: Target, field_selector: str = "") -> Attributes:
    """Return the attributes of a request. A namespace counts as being in itself.

    A list that selects one name is about that object: a user with access to only this one may list it so.
    """
    resource, name, on_node = target.resource, target.name, ""
    namespace = target.name if resource.kind == "Namespace" else target.namespace
    if 0 < len(field_selector) <= SELECTOR_MAX:
        wanted = _selected(field_selector)
        name = name or wanted.get("metadata.name", "")
        on_node = wanted.get("spec.nodeName", "") if resource.plural == "pods" else ""
    return Attributes(
        verb, resource.group, resource.plural, target.subresource, namespace, name, on_node=on_node
    )


@cached_by_text(1024)
def _selected(field_selector: str) -> dict[str, str]:
    """Return the fields that must have one value; empty for a malformed selector, which is refused later."""
    try:
        terms = parse_field_selector(field_selector).terms
    except SelectorError:
        return {}
    return {term.field: term.value for term in terms if term.equal}


def refusal(user: User, attributes: Attributes, reason: str = "") -> errors.ApiError:
    """Return a 403: ``pods "x" is forbidden: User "u" cannot get resource "pods" ...``, and the reason.

    Markup in names and paths is escaped (apiserver ``responsewriters.ForbiddenStatusError``).
    """
    more = f": {reason}" if reason else ""
    who = f"User {_shown(user.name)} cannot {_escaped(attributes.verb)}"
    if attributes.path:
        return errors.forbidden("", "", "", f"{who} path {_shown(attributes.path)}{more}")
    resource = (
        f"{attributes.resource}/{attributes.subresource}" if attributes.subresource else attributes.resource
    )
    where = (
        f"in the namespace {_shown(attributes.namespace)}" if attributes.namespace else "at the cluster scope"
    )
    why = f"{who} resource {_shown(resource)} in API group {_shown(attributes.group)} {where}{more}"
    return errors.forbidden(attributes.resource, attributes.group, attributes.name, why)


def _shown(text: str) -> str:
    """Quote a text as Go's ``%q`` does, without markup."""
    return _escaped(json.dumps(text, ensure_ascii=False))


def _escaped(text: str) -> str:
    return html.escape(text, quote=False)


class RbacAuthorizer:
    """``rest.Authorizer`` over the stored roles."""

    def __init__(
        self, index: RbacIndex, references: NodeReferences, gates: Mapping[str, bool] = NO_GATES
    ) -> None:
        self.index = index
        self.references = references
        self._nodes = NodeAuthorizer(references, (*NODE_RULES, *gated_rules("system:node", gates)))
        self._answers: dict[tuple[User, Attributes], Decision] = {}
        self._version = -1
        self._writes = 0

    async def load(self) -> None:
        """Read what decisions are made from, and follow it."""
        await self.index.load()
        await self.references.load()

    def close(self) -> None:
        self.index.close()
        self.references.close()

    def check(self, user: User, verb: str, target: Target, field_selector: str = "") -> None:
        """Raises 403 unless ``user`` may do ``verb`` to ``target``."""
        if verb not in READS:
            self._keep_up()
        if MASTERS in user.groups:
            return
        self._demand(user, attributes_of(verb, target, field_selector))

    def _keep_up(self) -> None:
        """Update the followed objects from the writers, so that they do not fall behind without requests."""
        self._writes += 1
        if self._writes % WRITES_BEHIND == 0:
            self.index.catch_up()
            self.references.catch_up()

    def _demand(self, user: User, attributes: Attributes) -> None:
        decision = self.decide(user, attributes)
        if not decision.allowed:
            raise refusal(user, attributes, decision.reason)

    def decide(self, user: User, attributes: Attributes) -> Decision:
        """Decide whether ``user`` may do ``attributes``; the reason of a refusal may be empty."""
        version = self.index.catch_up()
        if MASTERS in user.groups:
            return Decision(True)
        node = node_of(user)
        why_not = self._nodes.refused(node, attributes) if node else ""
        if why_not is None:
            return Decision(True)
        by_role = self._by_role(user, attributes, version)
        return by_role if by_role.allowed or not why_not else Decision(False, why_not)

    def _by_role(self, user: User, attributes: Attributes, version: int) -> Decision:
        if version != self._version or len(self._answers) > CACHE_LIMIT:
            self._answers.clear()
            self._version = version
        known = self._answers.get((user, attributes))
        if known is None:
            known = self._evaluate(user, attributes)
            if attributes.can_be_kept(user):
                self._answers[user, attributes] = known
        return known

    def _evaluate(self, user: User, attributes: Attributes) -> Decision:
        for rule, why in self.index.rules_for(user, attributes.namespace):
            if rule_allows(rule, attributes):
                return Decision(True, why)
        missing = self.unknown_roles(user, attributes.namespace)
        return Decision(False, f"RBAC: {aggregate(missing)}" if missing else "")

    def unknown_roles(self, user: User, namespace: str) -> list[errors.ApiError]:
        """Return the errors that make the rights of ``user`` incomplete: bound roles that do not exist."""
        found = self.index.missing_roles(user, namespace)
        return [errors.not_found(resource.singular, resource.group, name) for resource, name in found]
