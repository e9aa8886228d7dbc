"""Access reviews, which are created like an object and answered in its status.

``kubectl auth can-i`` and ``whoami`` create them, and so does every component that delegates its own
authentication and authorisation to the cluster. Nothing is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec import structs

from podling import clock
from podling.api.authentication_v1 import (
    SelfSubjectReview,
    SelfSubjectReviewStatus,
    TokenReview,
    TokenReviewStatus,
    UserInfo,
)
from podling.api.authorization_v1 import (
    LocalSubjectAccessReview,
    NonResourceAttributes,
    NonResourceRule,
    ResourceAttributes,
    ResourceRule,
    SelfSubjectAccessReview,
    SelfSubjectRulesReview,
    SubjectAccessReview,
    SubjectAccessReviewStatus,
    SubjectRulesReviewStatus,
)
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.auth.authz import RbacAuthorizer
from podling.apiserver.auth.issuer import ISSUER
from podling.apiserver.auth.node_authorizer import node_of
from podling.apiserver.auth.rbac import Attributes
from podling.apiserver.auth.review_selectors import on_node, unread_labels, wanted_fields
from podling.apiserver.auth.tokens import Tokens
from podling.apiserver.kinds.auth.access_review_validation import (
    access_errors,
    local_access_errors,
    self_access_errors,
)
from podling.apiserver.registry.registry import Handler
from podling.client.requests import Target, User, WriteOptions
from podling.machinery import errors
from podling.machinery.fields import FieldError, aggregate

_OF_NODES = "node authorizer does not support user rule resolution"
AUTHENTICATION, AUTHORIZATION = "authentication.k8s.io", "authorization.k8s.io"


class Reviews:
    """Answers reviews from the stored roles and the tokens in use.

    Args:
        token_user: whose bearer token it is, beyond service accounts' (static tokens).
    """

    def __init__(
        self, authorizer: RbacAuthorizer, tokens: Tokens, token_user: Callable[[str], User | None]
    ) -> None:
        self._authorizer = authorizer
        self._tokens = tokens
        self._token_user = token_user

    def handlers(self) -> Mapping[tuple[str, str, str], Handler]:
        return {
            (AUTHENTICATION, "selfsubjectreviews", ""): self.self_subject,
            (AUTHENTICATION, "tokenreviews", ""): self.token,
            (AUTHORIZATION, "selfsubjectaccessreviews", ""): self.self_access,
            (AUTHORIZATION, "subjectaccessreviews", ""): self.access,
            (AUTHORIZATION, "localsubjectaccessreviews", ""): self.local_access,
            (AUTHORIZATION, "selfsubjectrulesreviews", ""): self.self_rules,
        }

    async def self_subject(
        self, target: Target, user: User, body: SelfSubjectReview, options: WriteOptions
    ) -> SelfSubjectReview:
        """Answer with the attributes of the requesting user."""
        metadata = ObjectMeta(creation_timestamp=clock.seconds_precision(clock.now()))
        return structs.replace(
            body, metadata=metadata, status=SelfSubjectReviewStatus(user_info=_user_info(user))
        )

    async def token(
        self, target: Target, user: User, body: TokenReview, options: WriteOptions
    ) -> TokenReview:
        """Answer with the user of a token."""
        if not body.spec.token:
            raise errors.bad_request("token is required for TokenReview in authentication")
        wanted = body.spec.audiences or (ISSUER,)
        verified = self._tokens.verify(body.spec.token, options.warnings.append)
        found = verified.user if verified else self._token_user(body.spec.token)
        meant_for = verified.audiences if verified else (ISSUER,)
        audiences = tuple(each for each in wanted if each in meant_for)
        if found is None or not audiences:
            status = TokenReviewStatus(authenticated=False, error="invalid bearer token")
        else:
            status = TokenReviewStatus(authenticated=True, user=_user_info(found), audiences=audiences)
        return structs.replace(body, status=status)

    async def self_access(
        self, target: Target, user: User, body: SelfSubjectAccessReview, options: WriteOptions
    ) -> SelfSubjectAccessReview:
        """May I?"""
        _refuse(self_access_errors(body))
        spec = body.spec
        status = self._decide(user, spec.resource_attributes, spec.non_resource_attributes)
        return structs.replace(body, status=status)

    async def access(
        self, target: Target, user: User, body: SubjectAccessReview, options: WriteOptions
    ) -> SubjectAccessReview:
        """Answer whether a given user is allowed a request."""
        _refuse(access_errors(body))
        spec = body.spec
        subject = User(spec.user or "", spec.groups, spec.uid or "", spec.extra)
        status = self._decide(subject, spec.resource_attributes, spec.non_resource_attributes)
        return structs.replace(body, status=status)

    async def local_access(
        self, target: Target, user: User, body: LocalSubjectAccessReview, options: WriteOptions
    ) -> LocalSubjectAccessReview:
        """Answer whether a given user is allowed a request in this namespace."""
        _refuse(local_access_errors(body, target.namespace))
        wanted = body.spec.resource_attributes
        subject = User(body.spec.user or "", body.spec.groups, body.spec.uid or "", body.spec.extra)
        return structs.replace(body, status=self._decide(subject, wanted, None))

    async def self_rules(
        self, target: Target, user: User, body: SelfSubjectRulesReview, options: WriteOptions
    ) -> SelfSubjectRulesReview:
        """Answer with the requesting user's rights in a namespace."""
        namespace = body.spec.namespace
        if not namespace:
            raise errors.bad_request("no namespace on request")
        self._authorizer.index.catch_up()
        resources: list[ResourceRule] = []
        paths: list[NonResourceRule] = []
        for rule, _why in self._authorizer.index.rules_for(user, namespace):
            if rule.resources:
                found = ResourceRule(
                    verbs=rule.verbs,
                    api_groups=rule.api_groups,
                    resources=rule.resources,
                    resource_names=rule.resource_names,
                )
                resources.append(found)
            if rule.non_resource_urls:
                paths.append(NonResourceRule(verbs=rule.verbs, non_resource_urls=rule.non_resource_urls))
        status = SubjectRulesReviewStatus(
            resource_rules=tuple(resources),
            non_resource_rules=tuple(paths),
            incomplete=bool(node_of(user)),
            evaluation_error=self._unresolved(user, namespace),
        )
        return SelfSubjectRulesReview(status=status)

    def _unresolved(self, user: User, namespace: str) -> str:
        """Return the errors that make the list of a user's rights incomplete; empty if it is complete."""
        found = [_OF_NODES] if node_of(user) else []
        found += [str(each) for each in self._authorizer.unknown_roles(user, namespace)]
        return aggregate(found) if found else ""

    def _decide(
        self,
        user: User,
        resource: ResourceAttributes | None,
        path: NonResourceAttributes | None,
    ) -> SubjectAccessReviewStatus:
        unread: list[str] = []
        if resource is not None:
            asked, unread = _about(resource)
        else:
            assert path is not None
            asked = Attributes(path.verb or "", path=path.path or "/")
        decision = self._authorizer.decide(user, asked)
        return SubjectAccessReviewStatus(
            allowed=decision.allowed,
            reason=decision.reason,
            evaluation_error=aggregate(unread) if unread else "",
        )


def _about(resource: ResourceAttributes) -> tuple[Attributes, list[str]]:
    """Return the attributes of a resource review, and the messages about its malformed selectors."""
    fields, unread = wanted_fields(resource.field_selector)
    asked = Attributes(
        resource.verb or "",
        resource.group or "",
        resource.resource or "",
        resource.subresource or "",
        resource.namespace or "",
        resource.name or "",
        on_node=on_node(resource, fields),
    )
    return asked, [text for text in (unread, unread_labels(resource.label_selector)) if text]


def _user_info(user: User) -> UserInfo:
    return UserInfo(
        username=user.name,
        uid=user.uid,
        groups=user.groups,
        extra={key: tuple(values) for key, values in user.extra.items()},
    )


def _refuse(found: list[FieldError]) -> None:
    """Reviews have no name, and Kubernetes names no kind either."""
    if found:
        raise errors.invalid("", AUTHORIZATION, "", found)
