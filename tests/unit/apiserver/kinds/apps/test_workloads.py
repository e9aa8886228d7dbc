"""Tests of the rules that all workload kinds share."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.apps_v1 import DaemonSet, Deployment, ReplicaSet, StatefulSet
from podling.api.autoscaling_v1 import Scale, ScaleSpec
from podling.api.batch_v1 import CronJob, Job
from podling.api.core_v1 import ReplicationController
from podling.apiserver.kinds.common.base import Context, View
from tests.support.manifests import NOW, created, obj, rules
from tests.support.workload_manifests import WORKLOAD, base, make


def warnings_of(new: Any, old: Any = None) -> list[str]:
    return rules(type(new)).warnings(new, old, Context(NOW))


@pytest.mark.parametrize("kind", [Deployment, ReplicaSet, ReplicationController, Job, CronJob])
def test_name_that_is_no_dns_label_warns_on_creation(kind: type[Any]) -> None:
    new = created(obj(kind, "metadata: {name: web.v1}", base(kind)))
    (text,) = warnings_of(new)
    assert text.endswith("a DNS label is recommended: [must not contain dots]")
    assert text.startswith("metadata.name: this is used in Pod names and hostnames, ")
    assert warnings_of(new, new) == []


PORTS = "[{containerPort: 1}, {containerPort: 1}]"
PORTED = f"template: {{spec: {{containers: [{{name: main, image: x, ports: {PORTS}}}]}}}}"


@pytest.mark.parametrize("kind", [Deployment, ReplicaSet, DaemonSet, StatefulSet])
def test_template_warns_with_every_new_generation(kind: type[Any]) -> None:
    new = created(obj(kind, f"spec: {{{PORTED}}}", WORKLOAD))
    other = created(obj(kind, f"spec: {{{PORTED}, minReadySeconds: 9}}", WORKLOAD))
    assert len(warnings_of(new)) == len(warnings_of(other, new)) == 1
    assert warnings_of(new, new) == []


def test_template_gets_defaults_of_pods() -> None:
    for kind in (Deployment, ReplicaSet, StatefulSet, DaemonSet, Job):
        assert make(kind).spec.template.spec.dns_policy == "ClusterFirst"


def test_scale_shows_and_sets_replicas() -> None:
    deployment = make(Deployment)
    view = rules(Deployment).subresources["scale"]
    assert isinstance(view, View)
    shown = view.show(deployment)
    assert isinstance(shown, Scale)
    assert (shown.spec.replicas, shown.status.selector) == (1, "app=web")
    changed = view.put(deployment, Scale(spec=ScaleSpec(replicas=5)), Context(NOW))
    assert changed.spec.replicas == 5
