"""ServiceAccounts: rules and table.

Upstream: ``pkg/registry/core/serviceaccount``.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from podling.api.core_v1 import ObjectReference, ServiceAccount
from podling.apiserver.kinds.common.base import Context, KindRules
from podling.apiserver.kinds.common.cells import AGE, NAME, age
from podling.apiserver.kinds.common.filling import change, map_items
from podling.machinery.fields import Path
from podling.machinery.tables import Column

MOUNTABLE_ONLY = "kubernetes.io/enforce-mountable-secrets"
"""The annotation that limits an account's pods to the secrets that the account lists."""


class ServiceAccountRules(KindRules[ServiceAccount]):
    returns_deleted = True
    columns = (NAME, Column("Secrets", description="How many secrets the account lists"), AGE)

    def prepare_create(self, obj: ServiceAccount, context: Context) -> ServiceAccount:
        return change(obj, secrets=map_items(obj.secrets, _keep_name))

    def prepare_update(self, new: ServiceAccount, old: ServiceAccount, context: Context) -> ServiceAccount:
        return change(new, secrets=map_items(new.secrets, _keep_name))

    def warnings(self, obj: ServiceAccount, old: ServiceAccount | None, context: Context) -> list[str]:
        """Return a warning when the annotation is new."""
        if old is not None and MOUNTABLE_ONLY in old.metadata.annotations:
            return []
        if MOUNTABLE_ONLY not in obj.metadata.annotations:
            return []
        where = Path("metadata.annotations").key(MOUNTABLE_ONLY)
        why = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
        return [f"{where}: {why}"]

    def row(self, obj: ServiceAccount, now: datetime) -> Sequence[Any]:
        return obj.metadata.name, len(obj.secrets), age(obj, now)


def _keep_name(secret: ObjectReference) -> ObjectReference:
    """Return only the name of a secret reference: the secret is always in the account's namespace."""
    bare = ObjectReference(name=secret.name)
    return secret if secret == bare else bare
