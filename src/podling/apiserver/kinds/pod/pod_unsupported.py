"""Fields of a pod that this cluster's kubelets do not honour yet: each is named in a warning.

No field of a manifest may be ignored in silence. What is honoured needs no entry; when a feature
lands, its row is deleted. A row is a path into the pod's spec; ``[*]`` stands for every element, and
``=false`` means a field that says something when it is false.

The rows are kept as a tree, so that looking at a pod costs one look per field that could matter, not
one walk per row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from podling.api.core_v1 import PodSpec

_ANY_CONTAINER = ("containers[*]", "init_containers[*]", "ephemeral_containers[*]")

_VOLUMES = (
    "aws_elastic_block_store", "azure_disk", "azure_file", "cephfs", "cinder", "csi", "fc", "flex_volume",
    "flocker", "gce_persistent_disk", "git_repo", "glusterfs", "iscsi", "nfs",
    "photon_persistent_disk", "portworx_volume", "quobyte", "rbd", "scale_io", "storageos", "vsphere_volume",
)  # fmt: skip

_CONTAINER_FIELDS = (
    "security_context.app_armor_profile",
    "security_context.se_linux_options",
    "security_context.windows_options",
    "volume_devices",
    "resources.claims",
)

UNSUPPORTED: tuple[str, ...] = (
    *(f"volumes[*].{source}" for source in _VOLUMES),
    "volumes[*].projected.sources[*].cluster_trust_bundle",
    "volumes[*].projected.sources[*].pod_certificate",
    "host_users=false",
    "resource_claims",
    "runtime_class_name",
    "scheduling_group",
    "security_context.app_armor_profile",
    "security_context.se_linux_options",
    "security_context.se_linux_change_policy",
    "security_context.windows_options",
    *(f"{container}.{field}" for container in _ANY_CONTAINER for field in _CONTAINER_FIELDS),
)
"""Paths by the types' Python names; the warning shows JSON names."""

Tree = dict[str, "Tree"]


class _Look(NamedTuple):
    """One step of the rows: where to look, and what to do with what is there."""

    field: str
    each: bool
    """Look into every element."""
    when_false: bool
    """The field says something when it is false, and else nothing."""
    below: tuple[_Look, ...]
    """Where to look in what was found; nowhere for the end of a row."""


def unsupported_fields(spec: PodSpec) -> list[str]:
    """One warning for each field set that has no effect here."""
    return [f"spec.{shown}: not honoured by this cluster" for shown in _present(spec, _LOOKS)]


def _tree_of(rows: tuple[str, ...]) -> Tree:
    tree: Tree = {}
    for row in rows:
        branch = tree
        for step in row.split("."):
            branch = branch.setdefault(step, {})
    return tree


def _looks_of(tree: Tree) -> tuple[_Look, ...]:
    return tuple(
        _Look(
            field=step.removesuffix("[*]").removesuffix("=false"),
            each=step.endswith("[*]"),
            when_false=step.endswith("=false"),
            below=_looks_of(branch),
        )
        for step, branch in tree.items()
    )


_LOOKS = _looks_of(_tree_of(UNSUPPORTED))


def _present(value: Any, looks: tuple[_Look, ...]) -> list[str]:
    """The JSON paths, from ``value`` on, of what is looked for and is set; named only once it was found."""
    found: list[str] = []
    for field, each, when_false, below in looks:
        there = getattr(value, field)
        if there is not False if when_false else not there:
            continue
        if each:
            for position, element in enumerate(there):
                inner = _present(element, below)
                found += [f"{_json_name(type(value), field)}[{position}].{path}" for path in inner]
        elif below:
            found += [f"{_json_name(type(value), field)}.{path}" for path in _present(there, below)]
        else:
            found.append(_json_name(type(value), field))
    return found


def _json_name(type_: Any, name: str) -> str:
    fields: tuple[str, ...] = type_.__struct_fields__
    encoded: tuple[str, ...] = type_.__struct_encode_fields__
    return encoded[fields.index(name)]
