"""Members of a StatefulSet: ordinals, names and identity (cases of stateful_set_utils_test.go)."""

from __future__ import annotations

import pytest
from msgspec import structs

from podling.api.apps_v1 import StatefulSet, StatefulSetOrdinals, StatefulSetSpec
from podling.api.core_v1 import Container, PersistentVolumeClaim, Pod, PodSpec, PodTemplateSpec, Volume
from podling.api.meta_v1 import LabelSelector, ObjectMeta
from podling.controllers.workloads.statefulset_rules import (
    has_identity,
    has_storage,
    member,
    ordinal_of,
    ordinals,
    repaired,
)

TEMPLATE = PodTemplateSpec(
    metadata=ObjectMeta(labels={"app": "db"}),
    spec=PodSpec(containers=(Container(name="c"),), volumes=(Volume(name="data"), Volume(name="config"))),
)


def stateful(replicas: int | None, start: int | None = None) -> StatefulSet:
    return StatefulSet(
        metadata=ObjectMeta(name="db", namespace="default", uid="s1"),
        spec=StatefulSetSpec(
            replicas=replicas,
            ordinals=None if start is None else StatefulSetOrdinals(start=start),
            selector=LabelSelector(match_labels={"app": "db"}),
            service_name="dbs",
            template=TEMPLATE,
            volume_claim_templates=(PersistentVolumeClaim(metadata=ObjectMeta(name="data")),),
        ),
    )


@pytest.mark.parametrize(
    ("replicas", "start", "expected"),
    [(None, None, [0]), (3, None, [0, 1, 2]), (2, 5, [5, 6]), (0, 4, [])],
)
def test_ordinals_begin_at_start(replicas: int | None, start: int | None, expected: list[int]) -> None:
    assert list(ordinals(stateful(replicas, start))) == expected


@pytest.mark.parametrize(
    ("name", "ordinal"),
    [
        ("db-0", 0),
        ("db-12", 12),
        ("db-2147483647", 2147483647),
        ("db-2147483648", None),
        ("db-01", None),
        ("db-x", None),
        ("db--1", None),
        ("db-", None),
        ("db", None),
        ("other-1", None),
        ("db-a-1", None),
        ("db-\N{ARABIC-INDIC DIGIT ONE}", None),
    ],
)
def test_ordinal_is_read_from_the_name(name: str, ordinal: int | None) -> None:
    assert ordinal_of(stateful(3), Pod(metadata=ObjectMeta(name=name))) == ordinal


def test_member_has_name_labels_host_name_and_claims_of_its_ordinal() -> None:
    made = member(stateful(3), TEMPLATE, "db-abc", 2)
    assert made.metadata.name == "db-2"
    assert made.metadata.generate_name == ""
    assert made.metadata.labels == {
        "app": "db",
        "controller-revision-hash": "db-abc",
        "statefulset.kubernetes.io/pod-name": "db-2",
        "apps.kubernetes.io/pod-index": "2",
    }
    assert (made.spec.hostname, made.spec.subdomain) == ("db-2", "dbs")
    claims = {
        each.name: each.persistent_volume_claim and each.persistent_volume_claim.claim_name
        for each in made.spec.volumes
    }
    assert claims == {"data": "data-db-2", "config": None}
    assert has_identity(made)
    assert has_storage(stateful(3), made, 2)
    assert not has_storage(stateful(3), made, 1)


@pytest.mark.parametrize(
    ("labels", "right"),
    [
        ({"statefulset.kubernetes.io/pod-name": "db-2"}, True),
        ({"statefulset.kubernetes.io/pod-name": "db-1"}, False),
        ({"apps.kubernetes.io/pod-index": "2"}, False),
        ({}, False),
    ],
)
def test_identity_is_the_label_with_the_name(labels: dict[str, str], right: bool) -> None:
    assert has_identity(Pod(metadata=ObjectMeta(name="db-2", labels=labels))) == right


def test_repair_restores_labels_and_claims_and_nothing_else() -> None:
    made = member(stateful(3), TEMPLATE, "db-abc", 2)
    metadata = structs.replace(made.metadata, labels={"mine": "kept"})
    spec = structs.replace(made.spec, volumes=made.spec.volumes[1:], hostname="other")
    found = repaired(stateful(3), structs.replace(made, metadata=metadata, spec=spec), 2)
    assert found.spec == structs.replace(made.spec, hostname="other")
    assert found.metadata.labels == {
        "mine": "kept",
        "statefulset.kubernetes.io/pod-name": "db-2",
        "apps.kubernetes.io/pod-index": "2",
    }
