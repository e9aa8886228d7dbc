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
from podling.apiserver.kinds.common.filling import change, each
from podling.machinery.fields import Path
from podling.machinery.tables import Column

MOUNTABLE_ONLY = "kubernetes.io/enforce-mountable-secrets"
"""Whether the account's pods may use no other secrets than those it lists."""


class ServiceAccountRules(KindRules[ServiceAccount]):
    returns_deleted = True
    columns = (NAME, Column("Secrets", description="How many secrets the account lists"), AGE)

    def prepare_create(self, obj: ServiceAccount, context: Context) -> ServiceAccount:
        return change(obj, secrets=each(obj.secrets, _named_only))

    def prepare_update(self, new: ServiceAccount, old: ServiceAccount, context: Context) -> ServiceAccount:
        return change(new, secrets=each(new.secrets, _named_only))

    def warnings(self, obj: ServiceAccount, old: ServiceAccount | None, context: Context) -> list[str]:
        """Told once, when the annotation is new."""
        if old is not None and MOUNTABLE_ONLY in old.metadata.annotations:
            return []
        if MOUNTABLE_ONLY not in obj.metadata.annotations:
            return []
        where = Path("metadata.annotations").key(MOUNTABLE_ONLY)
        why = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
        return [f"{where}: {why}"]

    def row(self, obj: ServiceAccount, now: datetime) -> Sequence[Any]:
        return obj.metadata.name, len(obj.secrets), age(obj, now)


def _named_only(secret: ObjectReference) -> ObjectReference:
    """A secret of the account is one of its namespace: only the name counts."""
    bare = ObjectReference(name=secret.name)
    return secret if secret == bare else bare
