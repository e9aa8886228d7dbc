"""CSIDrivers: rules.

Upstream: ``ValidateCSIDriver`` in ``pkg/apis/storage/validation``, ``pkg/apis/storage/v1/defaults.go``.
"""

from __future__ import annotations

from collections.abc import Sequence

from podling.api.storage_v1 import (
    CSIDriver,
    TokenRequest,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.base import Context
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.common.filling import change, fill_absent, fill_empty
from podling.apiserver.kinds.common.table_rules import TableRules
from podling.machinery import fields
from podling.machinery.fields import Path

SPEC = Path("spec")
GROUP_POLICIES = ("File", "None", "ReadWriteOnceWithFSType")
LIFECYCLE_MODES = ("Persistent", "Ephemeral")
SHORTEST_TOKEN_SECONDS = 600
LONGEST_TOKEN_SECONDS = 2**32
SHORTEST_PERIOD_SECONDS = 10


class CSIDriverRules(TableRules[CSIDriver]):
    generation = True
    unconditional_update = False
    returns_deleted = True

    def default(self, obj: CSIDriver) -> CSIDriver:
        spec = fill_absent(
            obj.spec,
            attach_required=True,
            pod_info_on_mount=False,
            storage_capacity=False,
            fs_group_policy="ReadWriteOnceWithFSType",
            requires_republish=False,
            se_linux_mount=False,
        )
        return change(obj, spec=fill_empty(spec, volume_lifecycle_modes=("Persistent",)))

    def validate(self, obj: CSIDriver, context: Context) -> Errors:
        spec = obj.spec
        errors = checks.one_of(SPEC.child("fsGroupPolicy"), spec.fs_group_policy, GROUP_POLICIES)
        errors += _token_errors(SPEC.child("tokenRequests"), spec.token_requests)
        where = SPEC.child("volumeLifecycleModes")
        for mode in spec.volume_lifecycle_modes:
            errors += [] if mode in LIFECYCLE_MODES else [fields.not_supported(where, mode, LIFECYCLE_MODES)]
        seconds = spec.node_allocatable_update_period_seconds
        if seconds is not None and seconds < SHORTEST_PERIOD_SECONDS:
            where = SPEC.child("nodeAllocatableUpdatePeriodSeconds")
            text = f"must be greater than or equal to {SHORTEST_PERIOD_SECONDS} seconds"
            errors.append(fields.invalid(where, seconds, text))
        if spec.service_account_token_in_secrets is not None and not spec.token_requests:
            where, given = SPEC.child("serviceAccountTokenInSecrets"), spec.service_account_token_in_secrets
            text = "serviceAccountTokenInSecrets is set but no tokenRequests are specified"
            errors.append(fields.invalid(where, given, text))
        return errors

    def validate_update(self, new: CSIDriver, old: CSIDriver, context: Context) -> Errors:
        errors = self.validate(new, context)
        where = SPEC.child("attachedRequired")  # upstream's spelling
        errors += checks.immutable(where, new.spec.attach_required, old.spec.attach_required)
        where = SPEC.child("volumeLifecycleModes")
        return errors + checks.immutable(
            where, new.spec.volume_lifecycle_modes, old.spec.volume_lifecycle_modes
        )


def _token_errors(path: Path, requests: Sequence[TokenRequest]) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for position, request in enumerate(requests):
        here, seconds = path.index(position), request.expiration_seconds
        if request.audience in seen:
            errors.append(fields.duplicate(here.child("audience"), request.audience))
            continue
        seen.add(request.audience)
        where = here.child("expirationSeconds")
        if seconds is not None and seconds < SHORTEST_TOKEN_SECONDS:
            errors.append(fields.invalid(where, seconds, "may not specify a duration less than 10 minutes"))
        if seconds is not None and seconds > LONGEST_TOKEN_SECONDS:
            text = "may not specify a duration larger than 2^32 seconds"
            errors.append(fields.invalid(where, seconds, text))
    return errors
