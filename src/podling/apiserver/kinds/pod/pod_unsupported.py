"""Warnings about pod fields that this cluster's kubelets do not support.

No field of a manifest may be ignored without a warning. Supported fields need no entry: implementing a
feature deletes its row. A row is a path into the pod's spec; ``[*]`` stands for every element.

The rows form a tree, so that a pod is read once per field and not once per row.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from podling.api.core_v1 import PodSpec

_ANY_CONTAINER = ("containers[*]", "init_containers[*]", "ephemeral_containers[*]")

_VOLUMES = (
    "aws_elastic_block_store", "azure_disk", "azure_file", "cephfs", "cinder", "csi", "fc", "flex_volume",
    "flocker", "gce_persistent_disk", "git_repo", "glusterfs", "iscsi",
    "photon_persistent_disk", "portworx_volume", "quobyte", "rbd", "scale_io", "storageos", "vsphere_volume",
)  # fmt: skip

_CONTAINER_FIELDS = (
    "security_context.windows_options",
    "resources.claims",
)

UNSUPPORTED: tuple[str, ...] = (
    *(f"volumes[*].{source}" for source in _VOLUMES),
    "volumes[*].projected.sources[*].pod_certificate",
    "resource_claims",
    "security_context.se_linux_change_policy",
    "security_context.windows_options",
    *(f"{container}.{field}" for container in _ANY_CONTAINER for field in _CONTAINER_FIELDS),
)
"""Paths in Python names; the warning shows JSON names."""

Tree = dict[str, "Tree"]


class _Field(NamedTuple):
    """A node in the tree of rows: a field to read and the fields below it."""

    field: str
    each: bool
    """True if the fields below are those of every element."""
    below: tuple[_Field, ...]
    """The fields below; empty at the end of a row."""


def unsupported_fields(spec: PodSpec) -> list[str]:
    """Return a warning for each field set that has no effect here."""
    return [f"spec.{shown}: not honoured by this cluster" for shown in _paths_set(spec, _FIELDS)]


def _tree_from_rows(rows: tuple[str, ...]) -> Tree:
    tree: Tree = {}
    for row in rows:
        branch = tree
        for step in row.split("."):
            branch = branch.setdefault(step, {})
    return tree


def _fields_from_tree(tree: Tree) -> tuple[_Field, ...]:
    return tuple(
        _Field(
            field=step.removesuffix("[*]"),
            each=step.endswith("[*]"),
            below=_fields_from_tree(branch),
        )
        for step, branch in tree.items()
    )


_FIELDS = _fields_from_tree(_tree_from_rows(UNSUPPORTED))


def _paths_set(value: Any, fields: tuple[_Field, ...]) -> list[str]:
    """Return the JSON paths below ``value`` of the fields that are set."""
    found: list[str] = []
    for field, each, below in fields:
        there = getattr(value, field)
        if not there:
            continue
        if each:
            for position, element in enumerate(there):
                inner = _paths_set(element, below)
                found += [f"{_json_name(type(value), field)}[{position}].{path}" for path in inner]
        elif below:
            found += [f"{_json_name(type(value), field)}.{path}" for path in _paths_set(there, below)]
        else:
            found.append(_json_name(type(value), field))
    return found


def _json_name(type_: Any, name: str) -> str:
    fields: tuple[str, ...] = type_.__struct_fields__
    encoded: tuple[str, ...] = type_.__struct_encode_fields__
    return encoded[fields.index(name)]
