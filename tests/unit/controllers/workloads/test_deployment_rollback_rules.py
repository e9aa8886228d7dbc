"""Going back to an earlier revision by the annotation that ``extensions/v1beta1`` has left."""

from __future__ import annotations

import pytest
from msgspec import structs

from podling.api.apps_v1 import Deployment, ReplicaSet
from podling.controllers.controller_manager import ControllerManager
from podling.controllers.workloads.deployment import DeploymentController
from podling.controllers.workloads.deployment_rollback_rules import (
    last_revision,
    rollback_target,
    rolled_back,
)
from podling.controllers.workloads.deployment_rules import HASH_LABEL, REVISION, ROLLBACK_TO
from podling.testing import ControlPlane
from tests.support.control_loops import running, told
from tests.support.workloads import deployment

CAUSE = "kubernetes.io/change-cause"


def replica_set(number: str, image: str) -> ReplicaSet:
    held = deployment(image=image)
    template = held.spec.template
    labels = {**template.metadata.labels, HASH_LABEL: "abc"}
    template = structs.replace(template, metadata=structs.replace(template.metadata, labels=labels))
    annotations = {REVISION: number, CAUSE: f"image {image}"}
    return ReplicaSet(
        metadata=structs.replace(held.metadata, name=f"web-{number}", annotations=annotations),
        spec=structs.replace(ReplicaSet().spec, template=template),
    )


def asking(text: str) -> Deployment:
    held = deployment(image="web:3")
    annotations = {ROLLBACK_TO: text, REVISION: "3", CAUSE: "image web:3"}
    return structs.replace(held, metadata=structs.replace(held.metadata, annotations=annotations))


SETS = [replica_set("1", "web:1"), replica_set("2", "web:2"), replica_set("3", "web:3")]


@pytest.mark.parametrize(("text", "target"), [("0", 0), ("7", 7), ("", None), ("x", None), ("-1", -1)])
def test_annotation_names_the_revision(text: str, target: int | None) -> None:
    assert rollback_target(asking(text)) == target


@pytest.mark.parametrize(
    ("numbers", "last"),
    [
        ([], 0),
        (["1"], 0),
        (["1", "2"], 1),
        (["3", "1", "2"], 2),
        (["4", "x"], 0),
        (["2", "2"], 2),
        (["-1"], 0),
    ],
)
def test_last_revision_is_the_one_before_the_newest(numbers: list[str], last: int) -> None:
    assert last_revision([replica_set(number, "web:1") for number in numbers]) == last


@pytest.mark.parametrize(
    ("wanted", "sets", "image", "reason", "message"),
    [
        (1, SETS, "web:1", "DeploymentRollback", 'Rolled back deployment "web" to revision 1'),
        (0, SETS, "web:2", "DeploymentRollback", 'Rolled back deployment "web" to revision 2'),
        (
            3,
            SETS,
            "web:3",
            "DeploymentRollbackTemplateUnchanged",
            'The rollback revision contains the same template as current deployment "web"',
        ),
        (
            9,
            SETS,
            "web:3",
            "DeploymentRollbackRevisionNotFound",
            "Unable to find the revision to rollback to.",
        ),
        (
            -1,
            SETS,
            "web:3",
            "DeploymentRollbackRevisionNotFound",
            "Unable to find the revision to rollback to.",
        ),
        (0, SETS[2:], "web:3", "DeploymentRollbackRevisionNotFound", "Unable to find last revision."),
    ],
)
def test_template_of_the_revision_comes_back(
    wanted: int, sets: list[ReplicaSet], image: str, reason: str, message: str
) -> None:
    found = rolled_back(asking(str(wanted)), sets, wanted)
    assert (found.reason, found.message) == (reason, message)
    assert found.deployment.spec.template == deployment(image=image).spec.template
    assert found.deployment.metadata.annotations == {REVISION: "3", CAUSE: f"image {image}"}


async def test_controller_rolls_back_on_demand(cluster: ControlPlane) -> None:
    async with running(cluster.client, DeploymentController) as manager:
        assert isinstance(manager, ControllerManager)
        await cluster.client.create(deployment(image="web:1"))
        await cluster.advance(seconds=1)
        changed = {"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "web:2"}]}}}}
        await cluster.client.patch(Deployment, "web", changed, "default")
        await cluster.advance(seconds=1)
        asked = {"metadata": {"annotations": {ROLLBACK_TO: "0"}}}
        await cluster.client.patch(Deployment, "web", asked, "default")
        await cluster.advance(seconds=1)
        held = await cluster.client.get(Deployment, "web", "default")
        assert held.spec.template.spec.containers[0].image == "web:1"
        assert held.metadata.annotations == {REVISION: "3"}
        done = 'Normal DeploymentRollback web: Rolled back deployment "web" to revision 1'
        assert done in await told(cluster.client)
