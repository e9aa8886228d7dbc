"""The table of Scales, the ``scale`` subresource of every kind with replicas.

Upstream: ``printScale`` in ``pkg/printers/internalversion/printers.go``; ``getScaleColumnsForVersion`` of
``apiextensions-apiserver`` gives custom resources the same columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from podling.api.autoscaling_v1 import Scale
from podling.apiserver.kinds.common.base import KindRules
from podling.machinery.tables import AGE, NAME, Column, translate_timestamp_since


class ScaleRules(KindRules[Scale]):
    """The rules for tables of scales."""

    columns = (
        Column("Name", description=NAME.description),
        Column("Desired", type="integer", description="How many replicas are wanted."),
        Column("Available", type="integer", description="How many replicas there are."),
        AGE,
    )

    def row(self, obj: Scale, now: datetime) -> Sequence[Any]:
        age = translate_timestamp_since(obj.metadata.creation_timestamp, now)
        return obj.metadata.name, obj.spec.replicas or 0, obj.status.replicas, age


SCALES = ScaleRules()
