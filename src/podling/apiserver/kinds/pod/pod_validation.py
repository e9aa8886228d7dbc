"""Validation of pods and pod templates, which calls the validation of their parts.

The order of the checks is Kubernetes', because it is the order of the causes in the response.

Upstream: ``ValidatePodCreate``, ``ValidatePodSpec`` and ``ValidatePodTemplateSpec`` in
``pkg/apis/core/validation/validation.go``.
"""

from __future__ import annotations

from podling.api.core_v1 import Pod, PodDNSConfig, PodSpec, PodTemplateSpec
from podling.apiserver.kinds.common import checks
from podling.apiserver.kinds.common.checks import Errors
from podling.apiserver.kinds.pod.container_validation import (
    image_whitespace,
    validate_containers,
    validate_ephemeral_containers,
    validate_init_containers,
)
from podling.apiserver.kinds.pod.env_validation import file_volume_errors
from podling.apiserver.kinds.pod.pod_annotations import validate_annotations, validate_profiles
from podling.apiserver.kinds.pod.pod_scope import PodScope
from podling.apiserver.kinds.pod.resource_validation import validate_overhead, validate_pod_resources
from podling.apiserver.kinds.pod.scheduling_validation import (
    validate_affinity,
    validate_gates,
    validate_group,
    validate_spread,
    validate_tolerations,
)
from podling.apiserver.kinds.pod.security_validation import validate_host_users, validate_pod_security_context
from podling.apiserver.kinds.pod.volume_validation import validate_volumes
from podling.apiserver.kinds.pod.windows_validation import validate_host_process, validate_operating_system
from podling.machinery import fields, label_checks, names
from podling.machinery.fields import Path

SPEC, ANNOTATIONS = Path("spec"), Path("metadata.annotations")
RESTART_POLICIES = ("Always", "OnFailure", "Never")
DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
PREEMPTION_POLICIES = ("PreemptLowerPriority", "Never")

MAX_NAMESERVERS = 3
MAX_SEARCH_PATHS = 32
MAX_SEARCH_CHARACTERS = 2048


def validate_pod_create(pod: Pod) -> Errors:
    """Return the errors in a new pod."""
    errors = validate_pod(pod, is_stored=False)
    if pod.spec.ephemeral_containers:
        errors.append(fields.forbidden(SPEC.child("ephemeralContainers"), "cannot be set on create"))
    if pod.spec.node_name and pod.spec.scheduling_gates:
        text = "cannot be set until all schedulingGates have been cleared"
        errors.append(fields.forbidden(SPEC.child("nodeName"), text))
    annotations = pod.metadata.annotations
    return errors + (validate_profiles(SPEC, annotations, pod.spec) if annotations else [])


def validate_pod(pod: Pod, *, is_stored: bool = True) -> Errors:
    """Return the errors in any pod's annotations and spec."""
    spec = pod.spec
    annotations = pod.metadata.annotations
    errors = validate_annotations(ANNOTATIONS, annotations, spec) if annotations else []
    name = pod.metadata.name or ""
    errors += validate_pod_spec(SPEC, spec, pod_name=name, is_pod=True, is_stored=is_stored)
    if spec.volumes and not spec.service_account_name:
        errors += _token_errors(SPEC.child("volumes"), spec)
    for field, containers in (("containers", spec.containers), ("initContainers", spec.init_containers)):
        for position, container in enumerate(containers):
            errors += image_whitespace(SPEC.child(field).index(position), container)
    return errors


def validate_pod_template(path: Path, template: PodTemplateSpec) -> Errors:
    """Return the errors in a workload's template at ``path`` (``spec.template``)."""
    spec, annotations = template.spec, template.metadata.annotations
    errors = label_checks.labels(path.child("labels"), template.metadata.labels)
    if annotations:
        errors += label_checks.annotation_map(path.child("annotations"), annotations)
        errors += validate_annotations(path.child("annotations"), annotations, spec)
    errors += validate_pod_spec(path.child("spec"), spec)
    errors += validate_profiles(path.child("spec"), annotations, spec) if annotations else []
    if spec.ephemeral_containers:
        text = "ephemeral containers not allowed in pod template"
        errors.append(fields.forbidden(path.child("spec", "ephemeralContainers"), text))
    return errors


def _token_errors(path: Path, spec: PodSpec) -> Errors:
    text = "must not be specified when serviceAccountName is not set"
    return [
        fields.forbidden(
            path.index(position).child("projected", "sources").index(source).child("serviceAccountToken"),
            text,
        )
        for position, volume in enumerate(spec.volumes)
        if volume.projected is not None
        for source, projection in enumerate(volume.projected.sources)
        if projection.service_account_token is not None
    ]


def validate_pod_spec(
    path: Path, spec: PodSpec, *, pod_name: str = "", is_pod: bool = False, is_stored: bool = False
) -> Errors:
    scope = PodScope(spec, is_pod=is_pod, is_stored=is_stored, pod_name=pod_name)
    errors: Errors = []
    if spec.termination_grace_period_seconds is None:
        errors.append(fields.required(path.child("terminationGracePeriodSeconds")))
    if spec.volumes:
        errors += validate_volumes(path.child("volumes"), scope)
    if spec.resource_claims:
        errors += _resource_claim_errors(path.child("resourceClaims"), spec)
    errors += validate_containers(path.child("containers"), scope)
    if spec.init_containers:
        errors += validate_init_containers(path.child("initContainers"), scope)
    if spec.ephemeral_containers:
        errors += validate_ephemeral_containers(path.child("ephemeralContainers"), scope)
    if spec.resources is not None:
        errors += validate_pod_resources(path.child("resources"), spec, spec.resources)
    if spec.host_network:
        errors += _host_network_port_errors(path.child("containers"), scope)
    if spec.restart_policy not in RESTART_POLICIES:
        errors += checks.required_one_of(path.child("restartPolicy"), spec.restart_policy, RESTART_POLICIES)
    if spec.dns_policy not in DNS_POLICIES:
        errors += checks.required_one_of(path.child("dnsPolicy"), spec.dns_policy, DNS_POLICIES)
    if spec.node_selector:
        errors += label_checks.labels(path.child("nodeSelector"), spec.node_selector)
    errors += validate_pod_security_context(path, scope)
    if spec.affinity is not None:
        errors += validate_affinity(path.child("affinity"), spec.affinity)
    if spec.dns_config is not None or spec.dns_policy == "None":
        errors += _dns_config_errors(path.child("dnsConfig"), spec.dns_config, spec.dns_policy)
    for position, gate in enumerate(spec.readiness_gates):
        where = path.child("readinessGates").index(position).child("conditionType")
        errors += checks.label_name(where, gate.condition_type)
    if spec.scheduling_gates or spec.scheduling_group is not None:
        errors += _scheduling_errors(path, spec)
    if spec.topology_spread_constraints:
        errors += validate_spread(path.child("topologySpreadConstraints"), spec.topology_spread_constraints)
    if scope.windows_options:
        errors += validate_host_process(path, spec)
    if spec.host_users is False:
        errors += validate_host_users(path, spec)
    if spec.hostname_override is not None:
        errors += _hostname_override_errors(path, spec, spec.hostname_override)
    errors += _name_errors(path, spec)
    errors += validate_tolerations(path.child("tolerations"), spec.tolerations)
    for position, alias in enumerate(spec.host_aliases):
        where = path.child("hostAliases").index(position)
        errors += checks.ip(where.child("ip"), alias.ip)
        for number, hostname in enumerate(alias.hostnames):
            errors += checks.dns_subdomain(where.child("hostnames").index(number), hostname)
    if spec.preemption_policy not in (None, *PREEMPTION_POLICIES):
        here = path.child("preemptionPolicy")
        errors += checks.required_one_of(here, spec.preemption_policy, PREEMPTION_POLICIES)
    errors += validate_overhead(path.child("overhead"), spec.overhead) if spec.overhead else []
    errors += validate_operating_system(path, spec, spec.os) if spec.os is not None else []
    return errors + (file_volume_errors(path, spec) if scope.reads_files else [])


def _name_errors(path: Path, spec: PodSpec) -> Errors:
    """Return the errors in names of other objects, the host name, and the deadline."""
    errors: Errors = []
    for field, name in (("serviceAccountName", spec.service_account_name), ("nodeName", spec.node_name)):
        errors += checks.dns_subdomain(path.child(field), name) if name else []
    deadline = path.child("activeDeadlineSeconds")
    errors += checks.within(deadline, spec.active_deadline_seconds, 1, checks.MAX_INT32)
    for field, name in (("hostname", spec.hostname), ("subdomain", spec.subdomain)):
        errors += checks.dns_label(path.child(field), name) if name else []
    if spec.priority_class_name:
        errors += checks.dns_subdomain(path.child("priorityClassName"), spec.priority_class_name)
    if spec.runtime_class_name is not None:
        errors += checks.dns_subdomain(path.child("runtimeClassName"), spec.runtime_class_name)
    return errors


def _hostname_override_errors(path: Path, spec: PodSpec, name: str) -> Errors:
    here = path.child("hostnameOverride")
    errors: Errors = []
    if spec.set_hostname_as_fqdn:
        errors.append(fields.forbidden(here, "may not be specified when setHostnameAsFQDN is true"))
    if spec.host_network:
        errors.append(fields.forbidden(here, "may not be specified when hostNetwork is true"))
    if len(name.encode()) > 64:
        errors.append(fields.too_long(here, 64))
    return errors + checks.dns_subdomain(here, name)


def _scheduling_errors(path: Path, spec: PodSpec) -> Errors:
    errors = validate_gates(path.child("schedulingGates"), spec.scheduling_gates)
    if spec.scheduling_group is not None:
        errors += validate_group(path.child("schedulingGroup"), spec.scheduling_group)
    return errors


def _host_network_port_errors(path: Path, scope: PodScope) -> Errors:
    text = "must match `containerPort` when `hostNetwork` is true"
    return [
        fields.invalid(
            path.index(position).child("ports").index(number).child("hostPort"), port.host_port or 0, text
        )
        for position, container in enumerate(scope.spec.containers)
        for number, port in enumerate(container.ports)
        if (scope.is_pod or port.host_port) and (port.host_port or 0) != port.container_port
    ]


def _dns_config_errors(path: Path, config: PodDNSConfig | None, policy: str | None) -> Errors:
    if policy == "None":
        if config is None:
            return [fields.required(path, "must provide `dnsConfig` when `dnsPolicy` is None")]
        if not config.nameservers:
            text = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            return [fields.required(path.child("nameservers"), text)]
    if config is None:
        return []
    errors: Errors = []
    here = path.child("nameservers")
    if len(config.nameservers) > MAX_NAMESERVERS:
        text = f"must not have more than {MAX_NAMESERVERS} nameservers"
        errors.append(fields.invalid(here, config.nameservers, text))
    for position, server in enumerate(config.nameservers):
        errors += checks.ip(here.index(position), server)
    here = path.child("searches")
    if len(config.searches) > MAX_SEARCH_PATHS:
        text = f"must not have more than {MAX_SEARCH_PATHS} search paths"
        errors.append(fields.invalid(here, config.searches, text))
    if len(" ".join(config.searches)) > MAX_SEARCH_CHARACTERS:
        limit = f"{MAX_SEARCH_CHARACTERS} characters (including spaces)"
        text = f"must not have more than {limit} in the search list"
        errors.append(fields.invalid(here, config.searches, text))
    for position, search in enumerate(config.searches):
        if search != ".":
            domain = search.removesuffix(".")
            problems = names.dns_subdomain_with_underscore_errors(domain)
            errors += fields.invalid_each(here.index(position), domain, problems)
    for position, option in enumerate(config.options):
        if not option.name:
            errors.append(fields.required(path.child("options").index(position), "must not be empty"))
    return errors


def _resource_claim_errors(path: Path, spec: PodSpec) -> Errors:
    errors: Errors = []
    seen: set[str] = set()
    for position, claim in enumerate(spec.resource_claims):
        here = path.index(position)
        if not claim.name:
            errors.append(fields.required(here.child("name")))
        elif claim.name in seen:
            errors.append(fields.duplicate(here.child("name"), claim.name))
        else:
            errors += checks.dns_label(here.child("name"), claim.name)
        seen.add(claim.name)
        given = claim.resource_claim_name, claim.resource_claim_template_name
        if None not in given:
            text = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            errors.append(fields.invalid(here, claim, text))
        elif given == (None, None):
            text = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            errors.append(fields.invalid(here, claim, text))
        for field, name in zip(("resourceClaimName", "resourceClaimTemplateName"), given, strict=True):
            errors += checks.dns_subdomain(here.child(field), name) if name is not None else []
    return errors
