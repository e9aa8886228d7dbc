"""The selection of controllers to run, with the semantics of ``kube-controller-manager --controllers``.

``*`` stands for all that are on by default, ``name`` switches one on, ``-name`` off. The first entry that
names a controller decides. Source: ``k8s.io/controller-manager/app`` (``IsControllerEnabled``) and
``cmd/kube-controller-manager/names``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from podling.controllers.registry import NAMES

EVERY = "*"

NOT_HERE = frozenset(
    {
        "device-taint-eviction-controller",
        "horizontal-pod-autoscaler-controller",
        "node-ipam-controller",
        "persistentvolume-attach-detach-controller",
        "podcertificaterequest-cleaner-controller",
        "selinux-warning-controller",
        "storage-version-migrator-controller",
        "storageversion-garbage-collector-controller",
        "ttl-controller",
        "validatingadmissionpolicy-status-controller",
        "volumeattributesclass-protection-controller",
    }
) - frozenset(NAMES)
"""Kubernetes' controllers that do not exist here: they can be switched off, but not on."""

ALIASES = {
    "attachdetach": "persistentvolume-attach-detach-controller",
    "bootstrapsigner": "bootstrap-signer-controller",
    "clusterrole-aggregation": "clusterrole-aggregation-controller",
    "cronjob": "cronjob-controller",
    "csrapproving": "certificatesigningrequest-approving-controller",
    "csrcleaner": "certificatesigningrequest-cleaner-controller",
    "csrsigning": "certificatesigningrequest-signing-controller",
    "daemonset": "daemonset-controller",
    "deployment": "deployment-controller",
    "disruption": "disruption-controller",
    "endpoint": "endpoints-controller",
    "endpointslice": "endpointslice-controller",
    "endpointslicemirroring": "endpointslice-mirroring-controller",
    "ephemeral-volume": "ephemeral-volume-controller",
    "garbagecollector": "garbage-collector-controller",
    "horizontalpodautoscaling": "horizontal-pod-autoscaler-controller",
    "job": "job-controller",
    "legacy-service-account-token-cleaner": "legacy-serviceaccount-token-cleaner-controller",
    "namespace": "namespace-controller",
    "nodeipam": "node-ipam-controller",
    "nodelifecycle": "node-lifecycle-controller",
    "persistentvolume-binder": "persistentvolume-binder-controller",
    "persistentvolume-expander": "persistentvolume-expander-controller",
    "podgc": "pod-garbage-collector-controller",
    "pv-protection": "persistentvolume-protection-controller",
    "pvc-protection": "persistentvolumeclaim-protection-controller",
    "replicaset": "replicaset-controller",
    "replicationcontroller": "replicationcontroller-controller",
    "resource-claim-controller": "resourceclaim-controller",
    "resourcequota": "resourcequota-controller",
    "root-ca-cert-publisher": "root-ca-certificate-publisher-controller",
    "serviceaccount": "serviceaccount-controller",
    "serviceaccount-token": "serviceaccount-token-controller",
    "statefulset": "statefulset-controller",
    "tokencleaner": "token-cleaner-controller",
    "ttl": "ttl-controller",
    "ttl-after-finished": "ttl-after-finished-controller",
}
"""Names of before Kubernetes 1.28, which kube-controller-manager still takes."""


def entries_of(text: str) -> tuple[str, ...]:
    """Return the entries of a comma-separated list, names of old replaced by those of today."""
    return tuple(_canonical(entry.strip()) for entry in text.split(",") if entry.strip())


def _canonical(entry: str) -> str:
    sign, name = ("-", entry[1:]) if entry.startswith("-") else ("", entry)
    return sign + ALIASES.get(name, name)


def problems(entries: Sequence[str], added: Collection[str] = ()) -> list[str]:
    """Return what is wrong with a list, one line each. ``added`` are controllers of extensions."""
    found = []
    for entry in entries:
        name = entry.removeprefix("-")
        if entry == EVERY or name in NAMES or name in added:
            continue
        if name not in NOT_HERE:
            found.append(f'"{name}" is not in the list of known controllers')
        elif not entry.startswith("-"):
            found.append(f'"{name}" does not exist in Podling: it can only be switched off')
    return found


def enabled(name: str, entries: Sequence[str]) -> bool:
    """Return whether a controller runs.

    Every controller here is on by default, also the bootstrap signer and the token cleaner, which
    kube-controller-manager runs only where they are named, as kubeadm does.
    """
    for entry in entries:
        if entry in (name, f"-{name}"):
            return entry == name
    return EVERY in entries


def enabled_names(text: str) -> tuple[str, ...]:
    """Return the controllers that a list such as ``*,-job-controller`` lets run, in order of start."""
    entries = entries_of(text)
    return tuple(name for name in NAMES if enabled(name, entries))
