"""Validation of regular, init and ephemeral containers, and their common fields.

Upstream: ``validateContainers``, ``validateInitContainers``, ``validateEphemeralContainers`` and
``validateContainerCommon`` in ``pkg/apis/core/validation/validation.go``.
"""

from __future__ import annotations

from collections.abc import Iterable

from podling.api.core_v1 import (
    Container,
    ContainerPort,
    ContainerRestartRule,
    EphemeralContainer,
    ResourceRequirements,
)
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.pod.env_validation import validate_env, validate_env_from
from podling.apiserver.kinds.pod.mount_validation import validate_devices, validate_mounts
from podling.apiserver.kinds.pod.pod_scope import AnyContainer, PodScope
from podling.apiserver.kinds.pod.probe_validation import PROBES, validate_lifecycle, validate_probes
from podling.apiserver.kinds.pod.resource_validation import validate_resize_policy, validate_resources
from podling.apiserver.kinds.pod.security_validation import validate_security_context
from podling.machinery import fields, names
from podling.machinery.fields import Path
from podling.machinery.pods import is_sidecar

PULL_POLICIES = ("Always", "IfNotPresent", "Never")
MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
PROTOCOLS = ("SCTP", "TCP", "UDP")
RESTART_POLICIES = ("Always", "Never", "OnFailure")

MAX_RESTART_RULES = 20
MAX_EXIT_CODES = 255

_NOT_INIT = "may not be set for init containers without restartPolicy=Always"
_NOT_EPHEMERAL = "cannot be set for an Ephemeral Container"


def validate_containers(path: Path, scope: PodScope) -> Errors:
    """Return the errors in the regular containers; at least one is required."""
    containers = scope.spec.containers
    if not containers:
        return [fields.required(path)]
    errors: Errors = []
    seen: set[str] = set()
    for position, container in enumerate(containers):
        here = path.index(position)
        errors += _common_errors(here, container, scope)
        errors += _duplicate_name_errors(here.child("name"), container.name, seen)
        if container.lifecycle is not None:
            errors += validate_lifecycle(here.child("lifecycle"), container.lifecycle, scope)
        if container.liveness_probe or container.readiness_probe or container.startup_probe:
            errors += validate_probes(here, container, scope)
        if container.restart_policy is not None or container.restart_policy_rules:
            errors += _restart_policy_errors(here, container)
    return errors + _host_port_errors(path, enumerate(containers), set())


def validate_init_containers(path: Path, scope: PodScope) -> Errors:
    """Return the errors in the init containers. They run one by one, so they may share host ports."""
    errors: Errors = []
    seen = {container.name for container in scope.spec.containers}
    for position, container in enumerate(scope.spec.init_containers):
        here = path.index(position)
        errors += _common_errors(here, container, scope)
        errors += _restart_policy_errors(here, container, stops=True)
        if container.name:
            errors += _duplicate_name_errors(here.child("name"), container.name, seen)
        errors += _host_port_errors(path, [(position, container)], set())
        if is_sidecar(container):
            if container.lifecycle is not None:
                errors += validate_lifecycle(here.child("lifecycle"), container.lifecycle, scope)
            errors += validate_probes(here, container, scope)
        else:
            errors += [fields.forbidden(here.child(name), _NOT_INIT) for name in _serving_fields(container)]
            errors += [] if scope.is_stored else _resize_restart_errors(here.child("resizePolicy"), container)
    return errors


def _resize_restart_errors(path: Path, container: Container) -> Errors:
    """Return an error if a resize would restart a container that runs only once."""
    text = "must not be set to 'RestartContainer' for non-sidecar initContainers"
    return [
        fields.invalid(path.index(position).child("restartPolicy"), policy.restart_policy, text)
        for position, policy in enumerate(container.resize_policy)
        if policy.restart_policy == "RestartContainer"
    ]


def validate_ephemeral_containers(path: Path, scope: PodScope) -> Errors:
    spec = scope.spec
    others = {container.name for container in (*spec.containers, *spec.init_containers)}
    seen = set(others)
    errors: Errors = []
    for position, container in enumerate(spec.ephemeral_containers):
        here = path.index(position)
        errors += _common_errors(here, container, scope) + image_whitespace(here, container)
        errors += _duplicate_name_errors(here.child("name"), container.name, seen)
        target = container.target_container_name
        if target and target not in others:
            errors.append(fields.not_found(here.child("targetContainerName"), target))
        errors += [fields.forbidden(where, _NOT_EPHEMERAL) for where in _forbidden_fields(here, container)]
    return errors


def image_whitespace(path: Path, container: AnyContainer) -> Errors:
    """Return an error for spaces around a pod's image; a template may have them."""
    image = container.image or ""
    if image == image.strip():
        return []
    return [fields.invalid(path.child("image"), image, "must not have leading or trailing whitespace")]


def _common_errors(path: Path, container: AnyContainer, scope: PodScope) -> Errors:
    errors: Errors = []
    if not container.name:
        errors.append(fields.required(path.child("name")))
    elif problems := names.dns_label_errors(container.name):
        errors += fields.invalid_each(path.child("name"), container.name, problems)
    if not container.image:
        errors.append(fields.required(path.child("image")))
    if container.termination_message_policy not in MESSAGE_POLICIES:
        here, policy = path.child("terminationMessagePolicy"), container.termination_message_policy
        errors += checks.required_one_of(here, policy, MESSAGE_POLICIES)
    if container.ports:
        errors += _port_errors(path.child("ports"), container.ports)
    if container.env:
        errors += validate_env(path.child("env"), container.env, scope)
    if container.env_from:
        errors += validate_env_from(path.child("envFrom"), container.env_from)
    if container.volume_mounts:
        errors += validate_mounts(path.child("volumeMounts"), container, scope)
    if container.volume_devices:
        errors += validate_devices(path.child("volumeDevices"), container, scope)
    if container.image_pull_policy not in PULL_POLICIES:
        here, policy = path.child("imagePullPolicy"), container.image_pull_policy
        errors += checks.required_one_of(here, policy, PULL_POLICIES)
    resources = container.resources
    if resources.limits or resources.requests or resources.claims:
        errors += validate_resources(path.child("resources"), resources, scope)
    if container.resize_policy:
        errors += validate_resize_policy(
            path.child("resizePolicy"), container.resize_policy, scope.spec.restart_policy or ""
        )
    if container.security_context is not None:
        here = path.child("securityContext")
        errors += validate_security_context(here, container.security_context, scope)
    return errors


def _duplicate_name_errors(path: Path, name: str, seen: set[str]) -> Errors:
    if name in seen:
        return [fields.duplicate(path, name)]
    seen.add(name)
    return []


def _port_errors(path: Path, ports: tuple[ContainerPort, ...]) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for position, port in enumerate(ports):
        here = path.index(position)
        if port.name:
            problems = names.port_name_errors(port.name)
            errors += fields.invalid_each(here.child("name"), port.name, problems)
            errors += [] if problems else _duplicate_name_errors(here.child("name"), port.name, seen)
        if not port.container_port:
            errors.append(fields.required(here.child("containerPort")))
        else:
            errors += checks.port_number(here.child("containerPort"), port.container_port)
        if port.host_port:
            errors += checks.port_number(here.child("hostPort"), port.host_port)
        errors += checks.required_one_of(here.child("protocol"), port.protocol, PROTOCOLS)
    return errors


def _host_port_errors(path: Path, containers: Iterable[tuple[int, Container]], taken: set[str]) -> Errors:
    """Return an error for each host port that two concurrent containers use."""
    errors: Errors = []
    for position, container in containers:
        for port_position, port in enumerate(container.ports):
            if not port.host_port:
                continue
            claim = f"{port.protocol}/{port.host_ip or ''}/{port.host_port}"
            here = path.index(position).child("ports").index(port_position).child("hostPort")
            errors += _duplicate_name_errors(here, claim, taken)
    return errors


def _restart_policy_errors(path: Path, container: Container, *, stops: bool = False) -> Errors:
    """Return the errors in a container's restart policy and rules.

    ``stops``: without a policy the rules are not checked.
    """
    policy, rules = container.restart_policy, container.restart_policy_rules
    errors = checks.one_of_if_set(path.child("restartPolicy"), policy, RESTART_POLICIES)
    if not rules:
        return errors
    if policy is None:
        text = "must specify restartPolicy when restart rules are used"
        errors.append(fields.required(path.child("restartPolicy"), text))
        if stops:
            return errors
    here = path.child("restartPolicyRules")
    if len(rules) > MAX_RESTART_RULES:
        errors.append(fields.too_many(here, len(rules), MAX_RESTART_RULES))
    for position, rule in enumerate(rules):
        errors += _restart_rule_errors(here.index(position), rule)
    return errors


def _restart_rule_errors(path: Path, rule: ContainerRestartRule) -> Errors:
    errors = checks.one_of_if_set(path.child("action"), rule.action, ("Restart", "RestartAllContainers"))
    codes = rule.exit_codes
    if codes is None:
        return [*errors, fields.required(path.child("exitCodes"), "must be specified")]
    here = path.child("exitCodes")
    errors += checks.one_of_if_set(here.child("operator"), codes.operator, ("In", "NotIn"))
    if len(codes.values) > MAX_EXIT_CODES:
        errors.append(fields.too_many(here.child("values"), len(codes.values), MAX_EXIT_CODES))
    return errors


def _serving_fields(container: AnyContainer) -> list[str]:
    """Return the fields that only long-running containers may have, and that are set."""
    found = ["lifecycle"] if container.lifecycle is not None else []
    return found + [name for attribute, name in PROBES if getattr(container, attribute) is not None]


def _forbidden_fields(path: Path, container: EphemeralContainer) -> list[Path]:
    """Return the paths of fields that ephemeral containers may not have."""
    found = [path.child("ports")] if container.ports else []
    if container.resources != ResourceRequirements():
        found.append(path.child("resources"))
    if container.restart_policy is not None:
        found.append(path.child("restartPolicy"))
    if container.restart_policy_rules:
        found.append(path.child("restartPolicyRules"))
    if container.resize_policy:
        found.append(path.child("resizePolicy"))
    found += [path.child(name) for name in _serving_fields(container)]
    for position, mount in enumerate(container.volume_mounts):
        here = path.child("volumeMounts").index(position)
        found += [here.child("subPath")] if mount.sub_path else []
        found += [here.child("subPathExpr")] if mount.sub_path_expr else []
    return found
