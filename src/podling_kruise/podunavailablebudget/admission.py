"""Admission of PodUnavailableBudgets: validation. Upstream: ``pub_create_update_handler.go``."""

from __future__ import annotations

from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin
from podling.client.typed_kinds import typed
from podling.machinery import errors
from podling.machinery.encoding.custom import CustomObject
from podling.machinery.scheme import Resource
from podling_kruise.names import POLICY_GROUP
from podling_kruise.podunavailablebudget.conversion import BETA, convert
from podling_kruise.podunavailablebudget.types import PodUnavailableBudget
from podling_kruise.podunavailablebudget.validation import budget_errors, conflict_errors


class BudgetAdmission(Plugin):
    name = "PodUnavailableBudget"

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        ours = (resource.group, resource.plural) == (POLICY_GROUP, "podunavailablebudgets")
        return ours and not subresource and operation in (Operation.CREATE, Operation.UPDATE)

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        """Refuse invalid budgets, and a second one for the same pods. Raises 400 and 422."""
        new = _typed(request.object)
        old = _typed(request.old) if request.old is not None else None
        kind = PodUnavailableBudget.custom_resource.type
        listed = await objects.list(kind, request.namespace)
        others = [typed(each, PodUnavailableBudget) for each in listed]
        found = budget_errors(new, old) + conflict_errors(new, others)
        if found:
            raise errors.invalid(request.kind, POLICY_GROUP, new.metadata.name or "", found)


def _typed(obj: CustomObject) -> PodUnavailableBudget:
    try:
        newer = obj if obj.api_version == BETA else convert(obj, BETA)
    except ValueError as error:
        raise errors.bad_request(f"failed to convert v1alpha1 PUB to v1beta1: {error}") from error
    return typed(newer, PodUnavailableBudget)
