"""Approval of definitions in Kubernetes' own groups, by an annotation. Pure.

Upstream: ``apiextensions-apiserver/pkg/apihelpers`` and ``pkg/controller/apiapproval``.
"""

from __future__ import annotations

import json
from datetime import datetime
from enum import Enum
from urllib.parse import urlsplit

from podling.api.apiextensions_v1 import CustomResourceDefinition, CustomResourceDefinitionStatus
from podling.apiserver.customresources.definition_names import with_condition

APPROVAL = "api-approved.kubernetes.io"
CONFORMANT = "KubernetesAPIApprovalPolicyConformant"
_PULL = "https://github.com/kubernetes/enhancements/pull/1111"


class Approval(Enum):
    """The states of a definition's approval; the value is the condition's (status, reason)."""

    NOT_NEEDED = ("", "")
    MISSING = ("False", "MissingAnnotation")
    MALFORMED = ("False", "InvalidAnnotation")
    APPROVED = ("True", "ApprovedAnnotation")
    BYPASSED = ("False", "UnapprovedAnnotation")


def approval(definition: CustomResourceDefinition) -> tuple[Approval, str]:
    """Return the state of a definition's approval, and the words for it."""
    if not is_protected(definition.spec.group):
        return Approval.NOT_NEEDED, ""
    given = definition.metadata.annotations.get(APPROVAL, "")
    needed = f'protected groups must have approval annotation "{APPROVAL}"'
    if not given:
        return Approval.MISSING, f"{needed}, see {_PULL}"
    if given.startswith("unapproved"):
        return Approval.BYPASSED, f"not approved: {json.dumps(given)}"
    if _is_url(given):
        return Approval.APPROVED, f"approved in {given}"
    text = f'{needed} with either a URL or a reason starting with "unapproved", see {_PULL}'
    return Approval.MALFORMED, text


def is_protected(group: str) -> bool:
    return f".{group}".endswith((".k8s.io", ".kubernetes.io"))


def _is_url(text: str) -> bool:
    try:
        parts = urlsplit(text)
    except ValueError:
        return False
    return bool(parts.scheme and parts.netloc)


def with_approval(
    definition: CustomResourceDefinition, status: CustomResourceDefinitionStatus, now: datetime
) -> CustomResourceDefinitionStatus:
    """``status`` with the condition of a definition that needs approval."""
    state, text = approval(definition)
    if state is Approval.NOT_NEEDED:
        return status
    value, reason = state.value
    return with_condition(status, CONFORMANT, (value, reason, text), now)
