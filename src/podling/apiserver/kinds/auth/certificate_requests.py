"""CertificateSigningRequests: the server records the requester, and each later step has its own subresource.

``/approval`` sets the conditions *Approved* and *Denied*, ``/status`` the certificate and other conditions.
Neither can be reverted. Existing errors of an older object do not fail an update.

Upstream: ``pkg/apis/certificates/validation``, ``pkg/registry/certificates/certificates/strategy.go``.
"""

from __future__ import annotations

from datetime import datetime

from podling import clock
from podling.api.certificates_v1 import (
    CertificateSigningRequest,
    CertificateSigningRequestCondition,
    CertificateSigningRequestStatus,
)
from podling.apiserver.kinds.auth.certificate_validation import change_errors, request_errors
from podling.apiserver.kinds.common.base import Context
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change
from podling.apiserver.kinds.common.table_rules import TableRules
from podling.machinery import names


class CertificateRequestRules(TableRules[CertificateSigningRequest]):
    field_labels = ("spec.signerName",)
    status_subresource = True

    def name_errors(self, name: str) -> list[str]:
        """Return the errors in a name: it must be a URL path segment."""
        return names.path_segment_errors(name)

    def prepare_create(self, obj: CertificateSigningRequest, context: Context) -> CertificateSigningRequest:
        """Return the object with the requesting user in its spec; the client's values for it are dropped."""
        spec = change(
            obj.spec,
            username=context.user,
            uid=context.uid,
            groups=context.groups,
            extra=dict(context.extra),
        )
        return change(obj, spec=spec, status=CertificateSigningRequestStatus())

    def prepare_update(
        self, new: CertificateSigningRequest, old: CertificateSigningRequest, context: Context
    ) -> CertificateSigningRequest:
        status = old.status
        if context.subresource:
            conditions = _set_times(new.status.conditions, old.status.conditions, context.now)
            own = new.status if context.subresource == "status" else old.status
            status = change(own, conditions=conditions)
        return change(new, spec=old.spec, status=status)

    def validate(self, obj: CertificateSigningRequest, context: Context) -> Errors:
        return request_errors(obj)

    def validate_update(
        self, new: CertificateSigningRequest, old: CertificateSigningRequest, context: Context
    ) -> Errors:
        known = set(request_errors(old))
        errors = [error for error in request_errors(new) if error not in known]
        return errors + change_errors(new, old, context.subresource)

    def selectable_fields(self, obj: CertificateSigningRequest) -> dict[str, str]:
        return {"spec.signerName": obj.spec.signer_name}


def _set_times(
    new: tuple[CertificateSigningRequestCondition, ...],
    old: tuple[CertificateSigningRequestCondition, ...],
    now: datetime,
) -> tuple[CertificateSigningRequestCondition, ...]:
    """Return conditions with the times that their writer omitted; an existing transition keeps its time."""
    moment = clock.seconds_precision(now)
    known = {(each.type, each.status): each.last_transition_time for each in old}
    return tuple(
        change(
            each,
            last_update_time=each.last_update_time or moment,
            last_transition_time=each.last_transition_time or known.get((each.type, each.status)) or moment,
        )
        for each in new
    )
