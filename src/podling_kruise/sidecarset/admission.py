"""Admission of SidecarSets: defaults, hashes, and validation.

Upstream: ``pkg/webhook/sidecarset`` and ``SetDefaultsSidecarSetV1beta1``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import structs

from podling.api.core_v1 import ConfigMap, PodTemplate, PodTemplateSpec
from podling.apiserver.admission.base import AdmissionRequest, Objects, Operation, Plugin, Server
from podling.client.typed_kinds import typed
from podling.machinery import errors, fields
from podling.machinery.encoding import codec
from podling.machinery.encoding.custom import CustomObject
from podling.machinery.errors import ApiError
from podling.machinery.fields import FieldError
from podling.machinery.scheme import Resource, resource_of
from podling_kruise.names import GROUP, METADATA_PATCHES_ALLOWED, SYSTEM_NAMESPACE
from podling_kruise.sidecarset.annotations import SET_HASH, SET_HASH_WITHOUT_IMAGE
from podling_kruise.sidecarset.conflicts import canary_errors, conflict_errors
from podling_kruise.sidecarset.container_validation import filled, pod_spec_of, with_place
from podling_kruise.sidecarset.conversion import BETA, convert
from podling_kruise.sidecarset.metadata_validation import whitelist_errors
from podling_kruise.sidecarset.pod_injection import base_of_canary, stored_revision
from podling_kruise.sidecarset.revision_data import hash_without_image, set_hash
from podling_kruise.sidecarset.types import (
    AFTER,
    ALWAYS,
    BEFORE,
    COLD,
    DISABLED,
    RETAIN,
    ROLLING_UPDATE,
    SidecarContainer,
    SidecarSet,
    SidecarSetSpec,
)
from podling_kruise.sidecarset.validation import set_errors
from podling_kruise.template_admission import report_unknown
from podling_kruise.template_validation import SPEC

REVISIONS = 10
TYPED = ("containers", "initContainers", "volumes")
"""Fields whose schema is open: they are checked and filled in as pods are."""


class SidecarSetAdmission(Plugin):
    """Args: ``gates``: the feature gates."""

    name = "SidecarSet"

    def __init__(self, gates: Mapping[str, bool]) -> None:
        self._gates = gates
        self._server: Server

    def initialize(self, server: Server) -> None:
        self._server = server

    def handles(self, operation: Operation, resource: Resource, subresource: str) -> bool:
        ours = (resource.group, resource.plural) == (GROUP, "sidecarsets")
        return ours and not subresource and operation in (Operation.CREATE, Operation.UPDATE)

    async def admit(self, request: AdmissionRequest, objects: Objects) -> Any:
        obj: CustomObject = request.object
        plain = obj.content.get("spec")
        if not isinstance(plain, dict):
            return obj
        given = {name: plain[name] for name in TYPED if isinstance(plain.get(name), list)}
        held, unknown = codec.convert({"spec": given}, SidecarSet)
        report_unknown(request, unknown)
        spec = self._filled(held.spec)
        made = {**plain, **_defaults(plain), **{name: codec.to_plain(spec).get(name, []) for name in given}}
        digests = {SET_HASH: set_hash(spec), SET_HASH_WITHOUT_IMAGE: hash_without_image(spec)}
        metadata = structs.replace(obj.metadata, annotations={**obj.metadata.annotations, **digests})
        if made == plain and metadata == obj.metadata:
            return obj
        return structs.replace(obj, metadata=metadata, content={**obj.content, "spec": made})

    async def validate(self, request: AdmissionRequest, objects: Objects) -> None:
        new = _typed(request.object)
        old = _typed(request.old) if request.old is not None else None
        found = set_errors(new, old) + self._pod_errors(new.spec, request)
        configuration = objects.get(ConfigMap, "kruise-configuration", SYSTEM_NAMESPACE)
        data = configuration.data if configuration is not None else None
        found += whitelist_errors(new, data, allowed=self._gates[METADATA_PATCHES_ALLOWED])
        found += await _revision_errors(new, objects)
        others = [typed(each, SidecarSet) for each in await objects.list(SidecarSet.custom_resource.type)]
        base = base_of_canary(new)
        if base:
            held = next((each for each in others if each.metadata.name == base), None)
            found += canary_errors(new, old, held, base)
        if not found:
            found = conflict_errors(new, (each for each in others if each.metadata.name != base))
        if found:
            raise errors.invalid(request.kind, GROUP, new.metadata.name or "", found)

    def _filled(self, spec: SidecarSetSpec) -> SidecarSetSpec:
        """Return the spec with the defaults of containers and volumes."""
        containers = tuple(_with_defaults(each, BEFORE) for each in spec.containers)
        init = tuple(_with_defaults(each, AFTER) for each in spec.init_containers)
        made = structs.replace(spec, containers=containers, init_containers=init)
        template = PodTemplate(template=PodTemplateSpec(spec=pod_spec_of(made)))
        done = self._server.defaulted(template, resource_of(PodTemplate))
        return filled(made, done.template.spec)

    def _pod_errors(self, spec: SidecarSetSpec, request: AdmissionRequest) -> list[FieldError]:
        """Return what validation finds in the containers and volumes, as if a pod had them all."""
        if not spec.containers and not spec.init_containers:
            return []
        pod = pod_spec_of(spec)
        if not pod.containers:
            alone = codec.from_plain({"name": "test", "image": "busybox"}, type(pod.init_containers[0]))
            pod = structs.replace(pod, containers=(alone,))
        template = PodTemplate(template=PodTemplateSpec(spec=pod))
        done = self._server.defaulted(template, resource_of(PodTemplate))
        return [
            with_place(each) for each in self._server.errors_in(done, resource_of(PodTemplate), request.now)
        ]


async def _revision_errors(new: SidecarSet, objects: Objects) -> list[FieldError]:
    wanted = new.spec.injection_strategy.revision
    if wanted is None or (wanted.revision_name is None and wanted.custom_version is None):
        return []
    try:
        await stored_revision(new, wanted, objects)
    except ApiError as error:
        text = f"Cannot find specific ControllerRevision, err: {error}"
        return [fields.invalid(SPEC.child("injectionStrategy", "revision"), wanted, text)]
    return []


def _typed(obj: CustomObject) -> SidecarSet:
    return typed(obj if obj.api_version == BETA else convert(obj, BETA), SidecarSet)


def _with_defaults(container: SidecarContainer, policy: str) -> SidecarContainer:
    upgrade, shared = container.upgrade_strategy, container.share_volume_policy
    resources = container.resources_policy
    if resources is not None and not resources.target_containers_name_regex:
        resources = structs.replace(resources, target_containers_name_regex=".*")
    return structs.replace(
        container,
        resources_policy=resources,
        pod_inject_policy=container.pod_inject_policy or policy,
        upgrade_strategy=structs.replace(upgrade, upgrade_type=upgrade.upgrade_type or COLD),
        share_volume_policy=structs.replace(shared, type=shared.type or DISABLED),
    )


def _defaults(plain: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a spec that have defaults, but for containers and volumes."""
    strategy = {"type": ROLLING_UPDATE, "maxUnavailable": 1, "partition": 0}
    made: dict[str, Any] = {
        "updateStrategy": {**strategy, **(plain.get("updateStrategy") or {})},
        "revisionHistoryLimit": plain.get("revisionHistoryLimit", REVISIONS),
    }
    if plain.get("patchPodMetadata"):
        made["patchPodMetadata"] = [
            {**each, "patchPolicy": each.get("patchPolicy") or RETAIN} for each in plain["patchPodMetadata"]
        ]
    injection = plain.get("injectionStrategy") or {}
    if isinstance(injection.get("revision"), dict):
        revision = {"policy": ALWAYS, **injection["revision"]}
        made["injectionStrategy"] = {**injection, "revision": revision}
    return made
