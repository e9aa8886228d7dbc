"""Tests of the metadata that the server sets and checks."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from podling.api.core_v1 import ConfigMap
from podling.api.meta_v1 import ObjectMeta, OwnerReference
from podling.apiserver.kinds.common import metadata
from podling.machinery import errors
from podling.machinery.names import dns_subdomain_errors
from tests.support.causes import causes

NOW = datetime(2026, 1, 1, 12, microsecond=5, tzinfo=UTC)


def config_map(**fields: object) -> ConfigMap:
    return ConfigMap(metadata=ObjectMeta(**fields))  # type: ignore[arg-type]


def test_object_takes_the_namespace_of_the_request() -> None:
    assert metadata.in_namespace(config_map(), "a").metadata.namespace == "a"
    with pytest.raises(errors.ApiError, match="does not match the namespace sent on the request"):
        metadata.in_namespace(config_map(namespace="b"), "a")


def test_duplicate_owner_is_removed_with_a_warning() -> None:
    one, two = (OwnerReference(api_version="v1", kind="Pod", name="p", uid=uid) for uid in ("u1", "u2"))
    warnings: list[str] = []
    made = metadata.without_duplicate_owners(config_map(owner_references=(one, two, one)), warnings)
    assert made.metadata.owner_references == (one, two)
    (text,) = warnings
    assert text.endswith("duplicate UID(s) observed: u1")


def test_new_object_gets_server_metadata_only() -> None:
    sent = config_map(
        uid="mine",
        generation=7,
        resource_version="5",
        self_link="/x",
        deletion_timestamp=NOW,
        labels={"a": "b"},
    )
    made = metadata.set_server_metadata(sent, name="x", uid="u1", generation=True, now=NOW).metadata
    assert (made.name, made.uid, made.generation, made.resource_version) == ("x", "u1", 1, "")
    assert (made.creation_timestamp, made.deletion_timestamp) == (NOW.replace(microsecond=0), None)
    assert (made.labels, made.self_link) == ({"a": "b"}, "")


def test_update_keeps_server_metadata_it_omits() -> None:
    old = config_map(uid="u1", creation_timestamp=NOW, generation=2, resource_version="5")
    kept = metadata.keep_server_metadata(config_map(labels={"a": "b"}), old).metadata
    assert (kept.uid, kept.creation_timestamp, kept.generation, kept.resource_version) == ("u1", NOW, 2, "5")
    later = config_map(creation_timestamp=NOW + timedelta(days=1), generation=9)
    assert metadata.keep_server_metadata(later, old).metadata == old.metadata
    assert metadata.raise_generation(later, old, changed=True).metadata.generation == 3


def test_generated_name_fits_a_dns_label() -> None:
    assert metadata.generated_name("web-", "abcde") == "web-abcde"
    assert metadata.generated_name("w" * 100, "abcde") == "w" * 58 + "abcde"


@pytest.mark.parametrize(
    ("fields", "namespaced", "expected"),
    [
        ({"name": "x", "namespace": "a"}, True, []),
        ({"namespace": "a"}, True, ["metadata.name"]),
        ({"name": "x"}, True, ["metadata.namespace"]),
        ({"name": "x", "namespace": "a"}, False, ["metadata.namespace"]),
        ({"name": "X"}, False, ["metadata.name"]),
        ({"name": "x", "generate_name": "XY-"}, False, ["metadata.generateName"]),
        ({"name": "x", "labels": {"a b": "c"}}, False, ["metadata.labels"]),
        ({"name": "x", "annotations": {"a b": "c"}}, False, ["metadata.annotations"]),
    ],
)
def test_invalid_metadata_of_new_object_is_refused(
    fields: dict[str, object], namespaced: bool, expected: list[str]
) -> None:
    found = metadata.check_new(
        config_map(**fields).metadata,
        namespaced=namespaced,
        name_errors=dns_subdomain_errors,
        bare_finalizers=True,
    )
    assert [cause[0] for cause in causes(found)] == expected


@pytest.mark.parametrize(
    ("finalizer", "unqualified"), [("foregroundDeletion", False), ("a.io/b", False), ("mine", True)]
)
def test_only_oldest_finalizers_lack_a_domain(finalizer: str, unqualified: bool) -> None:
    assert metadata.is_unqualified_finalizer(finalizer) is unqualified
