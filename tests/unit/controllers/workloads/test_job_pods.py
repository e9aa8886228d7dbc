"""Pods of a Job: finalizer, index and host name."""

from __future__ import annotations

import pytest
from msgspec import structs

from podling.api.batch_v1 import Job, JobSpec
from podling.api.core_v1 import Container, EnvVar, PodSpec, PodTemplateSpec
from podling.api.meta_v1 import ObjectMeta
from podling.controllers.workloads.job_pod_rules import FINALIZER
from podling.controllers.workloads.job_pods import template_pod

INDEX = "batch.kubernetes.io/job-completion-index"
OWN = (EnvVar(name="JOB_COMPLETION_INDEX", value="mine"),)


def job(name: str = "sum", mode: str = "Indexed", limit_per_index: int | None = None) -> Job:
    containers = (Container(name="main"), Container(name="own", env=OWN))
    template = PodTemplateSpec(spec=PodSpec(containers=containers))
    return Job(
        metadata=ObjectMeta(name=name, namespace="default", uid="j1"),
        spec=JobSpec(
            template=template, completion_mode=mode, completions=9, backoff_limit_per_index=limit_per_index
        ),
    )


def test_pod_of_plain_job_has_only_the_finalizer() -> None:
    made = template_pod(job(mode="NonIndexed"), None, failures=0, ignored=0)
    assert made.metadata.finalizers == ("batch.kubernetes.io/job-tracking",)
    assert made.metadata.annotations == {}
    assert made.spec.containers[0].env == ()


def test_indexed_pod_has_its_index_in_label_annotation_and_variable() -> None:
    made = template_pod(job(), 3, failures=0, ignored=0)
    assert made.metadata.labels[INDEX] == "3"
    assert made.metadata.annotations == {INDEX: "3"}
    assert (made.metadata.generate_name, made.spec.hostname) == ("sum-3-", "sum-3")
    (variable,) = made.spec.containers[0].env
    assert variable.name == "JOB_COMPLETION_INDEX"
    assert made.spec.containers[1].env == OWN


@pytest.mark.parametrize(("length", "named"), [(61, True), (62, False)])
def test_host_name_is_set_up_to_63_characters(length: int, named: bool) -> None:
    made = template_pod(job("j" * length), 1, failures=0, ignored=0)
    assert bool(made.spec.hostname) is named


@pytest.mark.parametrize(("ignored", "count"), [(0, None), (2, "2")])
def test_back_off_per_index_counts_earlier_failures(ignored: int, count: str | None) -> None:
    annotations = template_pod(job(limit_per_index=3), 1, failures=1, ignored=ignored).metadata.annotations
    assert annotations["batch.kubernetes.io/job-index-failure-count"] == "1"
    found = annotations.get("batch.kubernetes.io/job-index-ignored-failure-count")
    assert found == count


@pytest.mark.parametrize(
    ("name", "prefix"),
    [
        ("sum", "sum-1-"),
        ("j" * 55, "j" * 55 + "-1-"),
        ("j" * 56, "j" * 55 + "-1-"),
        ("j" * 70, "j" * 55 + "-1-"),
    ],
)
def test_index_stays_in_the_generated_name(name: str, prefix: str) -> None:
    assert template_pod(job(name), 1, failures=0, ignored=0).metadata.generate_name == prefix


def test_finalizer_of_the_template_is_not_repeated() -> None:
    wanted = job(mode="NonIndexed")
    template = structs.replace(wanted.spec.template, metadata=ObjectMeta(finalizers=(FINALIZER, "other")))
    wanted = structs.replace(wanted, spec=structs.replace(wanted.spec, template=template))
    made = template_pod(wanted, None, failures=0, ignored=0)
    assert made.metadata.finalizers == (FINALIZER, "other")
