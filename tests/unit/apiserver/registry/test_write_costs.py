"""Estimates of the work of a write: by its values, not by its bytes."""

from __future__ import annotations

import pytest

from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling.api.core_v1 import ConfigMap
from podling.apiserver.registry.write_costs import LARGE_BYTES, LEAST_BYTES, Work, is_heavy
from podling.machinery.scheme import resource_of


@pytest.mark.parametrize(
    ("work", "kind", "document", "heavy"),
    [
        (Work.APPLY, ConfigMap, b"," * (LEAST_BYTES - 1), False),
        (Work.CREATE, ConfigMap, b"x" * (LARGE_BYTES - 1), False),
        (Work.CREATE, ConfigMap, b"x" * LARGE_BYTES, True),
        (Work.CREATE, ConfigMap, b"," * 2500, False),
        (Work.CREATE, ConfigMap, b"," * 2800, True),
        (Work.APPLY, ConfigMap, b"," * 2500, True),
        (Work.CREATE, CustomResourceDefinition, b"," * 2500, True),
    ],
)
def test_many_values_or_bytes_are_heavy(work: Work, kind: type, document: bytes, heavy: bool) -> None:
    assert is_heavy(work, resource_of(kind), document) == heavy
