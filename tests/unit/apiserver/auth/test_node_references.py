"""References of pods to other objects."""

from __future__ import annotations

from podling.api.core_v1 import (
    ConfigMapEnvSource,
    Container,
    EnvFromSource,
    EnvVar,
    EnvVarSource,
    EphemeralVolumeSource,
    LocalObjectReference,
    PersistentVolumeClaimVolumeSource,
    Pod,
    PodSpec,
    ProjectedVolumeSource,
    SecretKeySelector,
    SecretProjection,
    SecretVolumeSource,
    Volume,
    VolumeProjection,
)
from podling.api.meta_v1 import ObjectMeta
from podling.apiserver.auth.node_references import references


def everything() -> Pod:
    """Return a pod that refers to something in every way."""
    sources = (VolumeProjection(secret=SecretProjection(name="s-projected")),)
    key = EnvVarSource(secret_key_ref=SecretKeySelector(name="s-env", key="k"))
    container = Container(
        name="c",
        image="i",
        env=(EnvVar(name="A", value_from=key),),
        env_from=(EnvFromSource(config_map_ref=ConfigMapEnvSource(name="m-env")),),
    )
    spec = PodSpec(
        node_name="n1",
        service_account_name="worker",
        image_pull_secrets=(LocalObjectReference(name="s-pull"),),
        containers=(container,),
        volumes=(
            Volume(name="a", secret=SecretVolumeSource(secret_name="s-volume")),
            Volume(name="b", projected=ProjectedVolumeSource(sources=sources)),
            Volume(name="c", persistent_volume_claim=PersistentVolumeClaimVolumeSource(claim_name="claim")),
            Volume(name="d", ephemeral=EphemeralVolumeSource()),
        ),
    )
    return Pod(metadata=ObjectMeta(name="web", namespace="default"), spec=spec)


def test_references_of_a_pod_are_found() -> None:
    found = sorted((resource, name) for resource, _, name in references(everything()))
    assert found == [
        ("configmaps", "m-env"),
        ("persistentvolumeclaims", "claim"),
        ("persistentvolumeclaims", "web-d"),
        ("secrets", "s-env"),
        ("secrets", "s-projected"),
        ("secrets", "s-pull"),
        ("secrets", "s-volume"),
        ("serviceaccounts", "worker"),
    ]


def test_mirror_pod_has_no_references() -> None:
    mirror = everything()
    mirror.metadata.annotations["kubernetes.io/config.mirror"] = "hash"
    assert list(references(mirror)) == []
