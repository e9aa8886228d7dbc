"""Kubernetes v1.36 types of batch/v1. Written by tools/gen_api.py: do not edit."""

from __future__ import annotations

from datetime import datetime
from types import NoneType
from typing import Annotated, ClassVar

from msgspec import Struct, field

from podling.api._zero import Nullable, empty_as_null, empty_list, nil_list
from podling.api.core_v1 import ObjectReference, PodTemplateSpec
from podling.api.markers import INT32, LIST_SET, MergeKey
from podling.api.meta_v1 import LabelSelector, ListMeta, ObjectMeta


class CronJob(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('spec',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('batch', 'v1', 'CronJob')
    api_version: str = field(default_factory=lambda: 'batch/v1')
    kind: str = field(default_factory=lambda: 'CronJob')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: CronJobSpec = field(default_factory=lambda: CronJobSpec())
    status: CronJobStatus = field(default_factory=lambda: CronJobStatus())


class CronJobList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('batch', 'v1', 'CronJobList')
    api_version: str = field(default_factory=lambda: 'batch/v1')
    items: tuple[CronJob, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'CronJobList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class CronJobSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('jobTemplate', 'schedule')
    concurrency_policy: str = ''
    failed_jobs_history_limit: Annotated[int, INT32] | None = None
    job_template: JobTemplateSpec = field(default_factory=lambda: JobTemplateSpec())
    schedule: str = field(default_factory=str)
    starting_deadline_seconds: int | None = None
    successful_jobs_history_limit: Annotated[int, INT32] | None = None
    suspend: bool | None = None
    time_zone: str | None = None


class CronJobStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    active: tuple[ObjectReference, ...] = ()
    last_schedule_time: datetime | None = None
    last_successful_time: datetime | None = None


class Job(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    group_version_kind: ClassVar[tuple[str, str, str]] = ('batch', 'v1', 'Job')
    api_version: str = field(default_factory=lambda: 'batch/v1')
    kind: str = field(default_factory=lambda: 'Job')
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: JobSpec = field(default_factory=lambda: JobSpec())
    status: JobStatus = field(default_factory=lambda: JobStatus())


class JobCondition(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('status', 'type')
    last_probe_time: datetime | None = field(default_factory=NoneType)
    last_transition_time: datetime | None = field(default_factory=NoneType)
    message: str = ''
    reason: str = ''
    status: str = field(default_factory=str)
    type: str = field(default_factory=str)


class JobList(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('items',)
    group_version_kind: ClassVar[tuple[str, str, str]] = ('batch', 'v1', 'JobList')
    api_version: str = field(default_factory=lambda: 'batch/v1')
    items: tuple[Job, ...] = field(default_factory=empty_list)
    kind: str = field(default_factory=lambda: 'JobList')
    metadata: ListMeta = field(default_factory=lambda: ListMeta())


class JobSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('template',)
    active_deadline_seconds: int | None = None
    backoff_limit: Annotated[int, INT32] | None = None
    backoff_limit_per_index: Annotated[int, INT32] | None = None
    completion_mode: str | None = None
    completions: Annotated[int, INT32] | None = None
    managed_by: str | None = None
    manual_selector: bool | None = None
    max_failed_indexes: Annotated[int, INT32] | None = None
    parallelism: Annotated[int, INT32] | None = None
    pod_failure_policy: PodFailurePolicy | None = None
    pod_replacement_policy: str | None = None
    selector: LabelSelector | None = None
    success_policy: SuccessPolicy | None = None
    suspend: bool | None = None
    template: PodTemplateSpec = field(default_factory=lambda: PodTemplateSpec())
    ttl_seconds_after_finished: Annotated[int, INT32] | None = None


class JobStatus(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    active: Annotated[int, INT32] = 0
    completed_indexes: str = ''
    completion_time: datetime | None = None
    conditions: Annotated[tuple[JobCondition, ...], MergeKey('type')] = ()
    failed: Annotated[int, INT32] = 0
    failed_indexes: str | None = None
    ready: Annotated[int, INT32] | None = None
    start_time: datetime | None = None
    succeeded: Annotated[int, INT32] = 0
    terminating: Annotated[int, INT32] | None = None
    uncounted_terminated_pods: UncountedTerminatedPods | None = None


class JobTemplateSpec(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    metadata: ObjectMeta = field(default_factory=lambda: ObjectMeta())
    spec: JobSpec = field(default_factory=lambda: JobSpec())


class PodFailurePolicy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('rules',)
    rules: Nullable[tuple[PodFailurePolicyRule, ...]] = field(default_factory=nil_list)

    def __post_init__(self) -> None:
        if not self.rules:
            empty_as_null(self, 'rules')


class PodFailurePolicyOnExitCodesRequirement(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('operator', 'values')
    container_name: str | None = None
    operator: str = field(default_factory=str)
    values: Annotated[tuple[Annotated[int, INT32], ...], LIST_SET] = field(default_factory=empty_list)


class PodFailurePolicyOnPodConditionsPattern(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('type',)
    status: str = field(default_factory=str)
    type: str = field(default_factory=str)


class PodFailurePolicyRule(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('action',)
    action: str = field(default_factory=str)
    on_exit_codes: PodFailurePolicyOnExitCodesRequirement | None = None
    on_pod_conditions: tuple[PodFailurePolicyOnPodConditionsPattern, ...] = ()


class SuccessPolicy(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    required_fields: ClassVar[tuple[str, ...]] = ('rules',)
    rules: tuple[SuccessPolicyRule, ...] = field(default_factory=empty_list)


class SuccessPolicyRule(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    succeeded_count: Annotated[int, INT32] | None = None
    succeeded_indexes: str | None = None


class UncountedTerminatedPods(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", gc=False):
    failed: Annotated[tuple[str, ...], LIST_SET] = ()
    succeeded: Annotated[tuple[str, ...], LIST_SET] = ()
