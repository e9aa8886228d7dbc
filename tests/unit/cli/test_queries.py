"""The objects that ``podling why`` explains, from an API server in memory."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from podling.api.batch_v1 import CronJob
from podling.api.policy_v1 import PodDisruptionBudget
from podling.cli.common_options import NoAnswer
from podling.cli.queries import resource_named, why
from podling.controllers.workloads.cronjob import CronJobController
from podling.controllers.workloads.disruption import DisruptionController
from podling.controllers.workloads.job import JobController
from podling.testing import ControlPlane
from tests.support.control_loops import add_node, pod, running, set_phase


@pytest.mark.parametrize(
    ("written", "kind"),
    [
        ("po", "Pod"),
        ("pods", "Pod"),
        ("Pod", "Pod"),
        ("deploy.apps", "Deployment"),
        ("deployments.v1.apps", "Deployment"),
        ("sts", "StatefulSet"),
        ("rs", "ReplicaSet"),
        ("rc", "ReplicationController"),
        ("ds", "DaemonSet"),
        ("job", "Job"),
        ("svc", "Service"),
        ("services", "Service"),
        ("hpa", "HorizontalPodAutoscaler"),
        ("cj", "CronJob"),
        ("pdb", "PodDisruptionBudget"),
    ],
)
def test_kind_is_found_by_kubectl_names(written: str, kind: str) -> None:
    assert resource_named(written).kind == kind


@pytest.mark.parametrize("written", ["ingress", "node", "lease", "", "podd"])
def test_kind_without_explanation_is_refused_with_list(written: str) -> None:
    with pytest.raises(NoAnswer, match="there are: pod, deployment, replicaset"):
        resource_named(written)


def manifest(kind: type[Any], **fields: Any) -> Any:
    return msgspec.convert({"metadata": {"name": "web", "namespace": "default"}} | fields, kind)


TEMPLATE = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "busybox"}]}}


async def test_cron_job_is_explained_by_its_newest_run(cluster: ControlPlane) -> None:
    spec = {"schedule": "*/10 * * * *", "jobTemplate": {"spec": {"template": TEMPLATE}}}
    await add_node(cluster.client, "n1")
    async with running(cluster.client, CronJobController, JobController):
        await cluster.client.create(manifest(CronJob, spec=spec))
        await cluster.advance(seconds=1)
        answer = await why(cluster.client, "cj", "web", "default")
        assert answer.text.endswith("00:10:00 UTC; it has had no run yet.")
        await cluster.advance(minutes=10)
        answer = await why(cluster.client, "cj", "web", "default")
        assert answer.text.startswith("The newest run of CronJob web is web-"), answer
        assert "has 0 of 1 pods Ready" in answer.text


async def test_budget_is_explained_by_its_pods(cluster: ControlPlane) -> None:
    spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}}
    await add_node(cluster.client, "n1")
    async with running(cluster.client, DisruptionController):
        await cluster.client.create(manifest(PodDisruptionBudget, spec=spec))
        await cluster.advance(seconds=1)
        assert (await why(cluster.client, "pdb", "web", "default")).reason == "NoPods"
        for name in ("a", "b"):
            await cluster.client.create(pod(name, node="n1", labels={"app": "web"}))
        await cluster.advance(seconds=1)
        answer = await why(cluster.client, "pdb", "web", "default")
        assert "One that is not is a: " in answer.text, answer
        for name in ("a", "b"):
            await set_phase(cluster.client, name, "Running", ready=True)
        await cluster.advance(seconds=1)
        assert (await why(cluster.client, "pdb", "web", "default")).healthy
