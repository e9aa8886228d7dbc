"""Defaults of pods and pod templates.

``default_pod_spec`` sets the defaults of both. A pod gets a few more (requests from limits, host ports,
service links), because a template must keep showing what its author wrote. All of it is idempotent: objects
that a webhook has changed get their defaults again.

Upstream: ``pkg/apis/core/v1/defaults.go``.
"""

from __future__ import annotations

from typing import TypeVar

from podling.api.core_v1 import (
    Container,
    ContainerPort,
    EnvVar,
    EphemeralContainer,
    HTTPGetAction,
    Lifecycle,
    LifecycleHandler,
    Pod,
    PodSecurityContext,
    PodSpec,
    PodTemplateSpec,
    Probe,
    ResourceRequirements,
)
from podling.apiserver.kinds.common.filling import change, fill_absent, fill_empty, map_items
from podling.apiserver.kinds.pod.image_defaults import image_pull_policy
from podling.apiserver.kinds.pod.volume_defaults import default_volume
from podling.machinery.pods import (
    container_limits_total,
    container_requests_total,
    is_pod_level_resource,
)
from podling.machinery.resource_names import HUGE_PAGES

C = TypeVar("C", Container, EphemeralContainer)


def default_pod(pod: Pod) -> Pod:
    """Return a pod with its defaults; a negative grace period, which templates keep, becomes 1."""
    spec = default_pod_spec(pod.spec)
    grace = spec.termination_grace_period_seconds
    spec = change(
        spec,
        termination_grace_period_seconds=1 if grace is not None and grace < 0 else grace,
        containers=map_items(spec.containers, _requests_from_limits),
        init_containers=map_items(spec.init_containers, _requests_from_limits),
        enable_service_links=True if spec.enable_service_links is None else spec.enable_service_links,
    )
    if spec.resources is not None:
        resources = _huge_page_limits(spec, spec.resources)
        spec = change(spec, resources=_pod_level_requests(spec, resources))
    if spec.host_network:
        spec = change(
            spec,
            containers=map_items(spec.containers, _host_ports),
            init_containers=map_items(spec.init_containers, _host_ports),
        )
    return change(pod, spec=spec)


def default_pod_template(template: PodTemplateSpec) -> PodTemplateSpec:
    """Return a workload's template with the defaults of templates."""
    return change(template, spec=default_pod_spec(template.spec))


def default_pod_spec(spec: PodSpec) -> PodSpec:
    account, grace = spec.service_account_name or spec.service_account, spec.termination_grace_period_seconds
    return change(
        spec,
        dns_policy=spec.dns_policy or "ClusterFirst",
        restart_policy=spec.restart_policy or "Always",
        scheduler_name=spec.scheduler_name or "default-scheduler",
        security_context=_NO_SECURITY_CONTEXT if spec.security_context is None else spec.security_context,
        termination_grace_period_seconds=30 if grace is None else grace,
        service_account_name=account or spec.service_account_name,
        service_account=account or spec.service_account,
        containers=map_items(spec.containers, _container),
        init_containers=map_items(spec.init_containers, _container),
        ephemeral_containers=map_items(spec.ephemeral_containers, _container),
        volumes=map_items(spec.volumes, default_volume),
    )


_NO_SECURITY_CONTEXT = PodSecurityContext()


def _container(container: C) -> C:
    return change(
        container,
        termination_message_path=container.termination_message_path or "/dev/termination-log",
        termination_message_policy=container.termination_message_policy or "File",
        image_pull_policy=container.image_pull_policy or image_pull_policy(container.image or ""),
        ports=container.ports and map_items(container.ports, _port),
        env=container.env and map_items(container.env, _env),
        liveness_probe=container.liveness_probe and _probe(container.liveness_probe),
        readiness_probe=container.readiness_probe and _probe(container.readiness_probe),
        startup_probe=container.startup_probe and _probe(container.startup_probe),
        lifecycle=container.lifecycle and _lifecycle(container.lifecycle),
    )


def _port(port: ContainerPort) -> ContainerPort:
    return fill_empty(port, protocol="TCP")


def _env(variable: EnvVar) -> EnvVar:
    source = variable.value_from
    if source is None:
        return variable
    field_ref, file_key_ref = source.field_ref, source.file_key_ref
    source = change(
        source,
        field_ref=field_ref and fill_empty(field_ref, api_version="v1"),
        file_key_ref=file_key_ref and fill_absent(file_key_ref, optional=False),
    )
    return change(variable, value_from=source)


def _probe(probe: Probe) -> Probe:
    probe = fill_empty(probe, timeout_seconds=1, period_seconds=10, success_threshold=1, failure_threshold=3)
    grpc = probe.grpc and fill_absent(probe.grpc, service="")
    return change(probe, http_get=_http_get(probe.http_get), grpc=grpc)


def _http_get(action: HTTPGetAction | None) -> HTTPGetAction | None:
    return action and fill_empty(action, path="/", scheme="HTTP")


def _lifecycle(lifecycle: Lifecycle) -> Lifecycle:
    return change(lifecycle, post_start=_handler(lifecycle.post_start), pre_stop=_handler(lifecycle.pre_stop))


def _handler(handler: LifecycleHandler | None) -> LifecycleHandler | None:
    return handler and change(handler, http_get=_http_get(handler.http_get))


def _requests_from_limits(container: Container) -> Container:
    resources = container.resources
    if not resources.limits:
        return container
    missing = {name: value for name, value in resources.limits.items() if name not in resources.requests}
    if not missing:
        return container
    return change(container, resources=change(resources, requests={**resources.requests, **missing}))


def _pod_level_requests(spec: PodSpec, resources: ResourceRequirements) -> ResourceRequirements:
    """Return pod-level resources with default requests: those of the containers, else the limit.

    Huge pages cannot be overcommitted, so their request is always the limit. Without a pod-level limit there
    is no default.
    """
    if not resources.limits:
        return resources
    requested = container_requests_total(spec).items()
    wanted = {name: str(value) for name, value in requested if not name.startswith(HUGE_PAGES)}
    requests = {**resources.limits, **wanted}
    missing = {
        name: value
        for name, value in requests.items()
        if name not in resources.requests and is_pod_level_resource(name)
    }
    return change(resources, requests={**resources.requests, **missing}) if missing else resources


def _huge_page_limits(spec: PodSpec, resources: ResourceRequirements) -> ResourceRequirements:
    """Return pod-level resources with huge page limits of the containers, if any resource is set."""
    if not resources.requests and not resources.limits:
        return resources
    missing = {
        name: str(value)
        for name, value in container_limits_total(spec).items()
        if name.startswith(HUGE_PAGES) and name not in resources.limits and name not in resources.requests
    }
    return change(resources, limits={**resources.limits, **missing}) if missing else resources


def _host_ports(container: Container) -> Container:
    """Return a container on the host's network, where a container port equals its host port."""

    def host_port(port: ContainerPort) -> ContainerPort:
        return fill_empty(port, host_port=port.container_port) if port.container_port else port

    return change(container, ports=map_items(container.ports, host_port))
