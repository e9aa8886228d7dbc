"""Small workloads of each kind, valid for any API server; further fields of the spec by name."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from podling.api.apps_v1 import (
    Deployment,
    DeploymentSpec,
    DeploymentStrategy,
    RollingUpdateDeployment,
    RollingUpdateStatefulSetStrategy,
    StatefulSet,
    StatefulSetSpec,
    StatefulSetUpdateStrategy,
)
from podling.api.batch_v1 import Job, JobSpec
from podling.api.core_v1 import (
    Container,
    ContainerState,
    ContainerStateTerminated,
    ContainerStatus,
    HostPathVolumeSource,
    PersistentVolume,
    PersistentVolumeClaim,
    PersistentVolumeClaimSpec,
    PersistentVolumeSpec,
    Pod,
    PodCondition,
    PodSpec,
    PodStatus,
    PodTemplateSpec,
    Service,
    ServicePort,
    ServiceSpec,
    VolumeResourceRequirements,
)
from podling.api.meta_v1 import LabelSelector, ObjectMeta
from podling.controllers.workloads.job_indexes import INDEX
from podling.controllers.workloads.job_pod_rules import FINALIZER, INDEX_FAILURES, INDEX_IGNORED
from podling.sim.loop import EPOCH


def template(image: str, restart_policy: str = "Always", **labels: str) -> PodTemplateSpec:
    """Return a template of pods with one container, ``main``."""
    spec = PodSpec(containers=(Container(name="main", image=image),), restart_policy=restart_policy)
    return PodTemplateSpec(metadata=ObjectMeta(labels=labels), spec=spec)


def rolling_deployment(surge: int | str, unavailable: int | str) -> DeploymentStrategy:
    update = RollingUpdateDeployment(max_surge=surge, max_unavailable=unavailable)
    return DeploymentStrategy(type="RollingUpdate", rolling_update=update)


def deployment(replicas: int = 4, image: str = "web:1", **spec: Any) -> Deployment:
    spec.setdefault("progress_deadline_seconds", 600)
    spec.setdefault("revision_history_limit", 10)
    spec.setdefault("strategy", rolling_deployment("25%", "25%"))
    return Deployment(
        metadata=ObjectMeta(name="web", namespace="default"),
        spec=DeploymentSpec(
            replicas=replicas,
            selector=LabelSelector(match_labels={"app": "web"}),
            template=template(image, app="web"),
            **spec,
        ),
    )


def rolling_stateful(**update: Any) -> StatefulSetUpdateStrategy:
    strategy = RollingUpdateStatefulSetStrategy(**update)
    return StatefulSetUpdateStrategy(type="RollingUpdate", rolling_update=strategy)


def stateful_set(replicas: int = 3, **spec: Any) -> StatefulSet:
    spec.setdefault("pod_management_policy", "OrderedReady")
    spec.setdefault("update_strategy", rolling_stateful(partition=0))
    return StatefulSet(
        metadata=ObjectMeta(name="db", namespace="default"),
        spec=StatefulSetSpec(
            replicas=replicas,
            selector=LabelSelector(match_labels={"app": "db"}),
            service_name="db",
            template=template("db:1", app="db"),
            **spec,
        ),
    )


def job(restart_policy: str = "Never", **spec: Any) -> Job:
    spec.setdefault("completions", 1)
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoff_limit", 6)
    spec.setdefault("completion_mode", "NonIndexed")
    spec.setdefault("pod_replacement_policy", "TerminatingOrFailed")
    return Job(
        metadata=ObjectMeta(name="sum", namespace="default"),
        spec=JobSpec(
            manual_selector=True,
            selector=LabelSelector(match_labels={"job": "sum"}),
            template=template("sum", restart_policy, job="sum"),
            **spec,
        ),
    )


def job_pod(
    name: str,
    phase: str = "Failed",
    *,
    index: int | None = None,
    failures: str | None = None,
    ignored: str | None = None,
    code: int | None = None,
    deleted: datetime | None = None,
    disrupted: bool = False,
    tracked: bool = True,
) -> Pod:
    """Return a pod of ``job``, whose name is its UID, too."""
    texts = {INDEX: index, INDEX_FAILURES: failures, INDEX_IGNORED: ignored}
    metadata = ObjectMeta(
        name=name,
        namespace="default",
        uid=name,
        creation_timestamp=EPOCH,
        annotations={key: str(value) for key, value in texts.items() if value is not None},
        finalizers=(FINALIZER,) if tracked else (),
        deletion_timestamp=deleted,
    )
    ended = ContainerStateTerminated(exit_code=code) if code is not None else None
    statuses = (ContainerStatus(name="main", state=ContainerState(terminated=ended)),) if ended else ()
    conditions = (PodCondition(type="DisruptionTarget", status="True"),) if disrupted else ()
    return Pod(
        metadata=metadata,
        status=PodStatus(phase=phase, container_statuses=statuses, conditions=conditions),
    )


def service(name: str = "web", **spec: Any) -> Service:
    """Return a Service of the pods of ``deployment``."""
    spec.setdefault("selector", {"app": "web"})
    ports = (ServicePort(name="http", port=80, target_port=8080, protocol="TCP"),)
    return Service(metadata=ObjectMeta(name=name, namespace="default"), spec=ServiceSpec(ports=ports, **spec))


def volume(
    name: str, size: str = "1Gi", *, labels: dict[str, str] | None = None, **spec: Any
) -> PersistentVolume:
    spec.setdefault("host_path", HostPathVolumeSource(path=f"/data/{name}"))
    spec.setdefault("persistent_volume_reclaim_policy", "Retain")
    spec.setdefault("access_modes", ("ReadWriteOnce",))
    return PersistentVolume(
        metadata=ObjectMeta(name=name, labels=labels or {}),
        spec=PersistentVolumeSpec(capacity={"storage": size}, **spec),
    )


def claim(name: str = "data", size: str = "1Gi", **spec: Any) -> PersistentVolumeClaim:
    spec.setdefault("access_modes", ("ReadWriteOnce",))
    resources = VolumeResourceRequirements(requests={"storage": size})
    return PersistentVolumeClaim(
        metadata=ObjectMeta(name=name, namespace="default"),
        spec=PersistentVolumeClaimSpec(resources=resources, **spec),
    )
