"""Authorisation: may this user do that?

Members of ``system:masters`` may do everything; for everyone else the stored roles and bindings decide.
What no rule allows is refused, in Kubernetes' words.
"""

from __future__ import annotations

from dataclasses import dataclass

from podling.apiserver.rbac import Attributes, RbacIndex, rule_allows
from podling.client.local import Target, User
from podling.machinery import errors

MASTERS = "system:masters"
READS = ("get", "list", "watch")
CACHE_LIMIT = 16_384
"""Answers remembered before the cache starts afresh."""


@dataclass(frozen=True, slots=True)
class Decision:
    allowed: bool
    reason: str = ""


def attributes_of(verb: str, target: Target) -> Attributes:
    """What a request asks for. Namespaces count as being in themselves."""
    resource = target.resource
    namespace = target.name if resource.kind == "Namespace" else target.namespace
    return Attributes(verb, resource.group, resource.plural, target.subresource, namespace, target.name)


def refusal(user: User, asked: Attributes) -> errors.ApiError:
    """403: ``pods "x" is forbidden: User "u" cannot get resource "pods" ...``."""
    if asked.path:
        return errors.forbidden("", "", "", f'User "{user.name}" cannot {asked.verb} path "{asked.path}"')
    resource = f"{asked.resource}/{asked.subresource}" if asked.subresource else asked.resource
    where = f'in the namespace "{asked.namespace}"' if asked.namespace else "at the cluster scope"
    why = f'User "{user.name}" cannot {asked.verb} resource "{resource}" in API group "{asked.group}" {where}'
    return errors.forbidden(asked.resource, asked.group, asked.name, why)


class RbacAuthorizer:
    """``rest.Authorizer`` over the stored roles."""

    def __init__(self, index: RbacIndex) -> None:
        self.index = index
        self._answers: dict[tuple[User, Attributes], Decision] = {}
        self._version = -1

    def check(self, user: User, verb: str, target: Target) -> None:
        """Raises 403 unless ``user`` may do ``verb`` to ``target``."""
        if MASTERS in user.groups:
            if verb not in READS:
                self.index.catch_up()  # whoever writes keeps the index from falling behind
            return
        asked = attributes_of(verb, target)
        if not self.decide(user, asked).allowed:
            raise refusal(user, asked)

    def check_path(self, user: User, verb: str, path: str) -> None:
        """Raises 403 unless ``user`` may do ``verb`` to a path that is no resource."""
        asked = Attributes(verb, path=path)
        if not self.decide(user, asked).allowed:
            raise refusal(user, asked)

    def decide(self, user: User, asked: Attributes) -> Decision:
        version = self.index.catch_up()
        if MASTERS in user.groups:
            return Decision(True)
        if version != self._version or len(self._answers) > CACHE_LIMIT:
            self._answers.clear()
            self._version = version
        known = self._answers.get((user, asked))
        if known is None:
            known = self._answers[user, asked] = self._evaluate(user, asked)
        return known

    def _evaluate(self, user: User, asked: Attributes) -> Decision:
        for rule, why in self.index.rules_for(user, asked.namespace):
            if rule_allows(rule, asked):
                return Decision(True, why)
        return Decision(False)
