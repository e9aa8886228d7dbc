"""Going back to an earlier revision of a Deployment by its annotation. Pure.

The annotation is what is left of a field of ``extensions/v1beta1``; ``kubectl rollout undo`` changes the
template itself. Upstream: ``pkg/controller/deployment/rollback.go``.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct, structs

from podling.api.apps_v1 import Deployment, ReplicaSet
from podling.controllers.workloads.deployment_rules import (
    HASH_LABEL,
    NOT_COPIED,
    ROLLBACK_TO,
    revision,
    same_template,
)
from podling.machinery.requirements import integer_of

NOT_FOUND = "DeploymentRollbackRevisionNotFound"
UNCHANGED = "DeploymentRollbackTemplateUnchanged"
DONE = "DeploymentRollback"


class Rollback(Struct, frozen=True):
    """The Deployment to write, and the event about it."""

    deployment: Deployment
    type: str
    reason: str
    message: str


def rollback_target(deployment: Deployment) -> int | None:
    """Return the revision to go back to, 0 for the last one; None if none is requested."""
    return integer_of(deployment.metadata.annotations.get(ROLLBACK_TO, ""))


def rolled_back(deployment: Deployment, sets: Sequence[ReplicaSet], wanted: int) -> Rollback:
    """Return the Deployment with the template of a revision; ``sets`` are all of its replica sets."""
    annotations = {key: text for key, text in deployment.metadata.annotations.items() if key != ROLLBACK_TO}
    plain = structs.replace(
        deployment, metadata=structs.replace(deployment.metadata, annotations=annotations)
    )
    number = wanted or last_revision(sets)
    if not number:
        return Rollback(plain, "Warning", NOT_FOUND, "Unable to find last revision.")
    found = next((each for each in sets if revision(each) == number), None)
    if found is None:
        return Rollback(plain, "Warning", NOT_FOUND, "Unable to find the revision to rollback to.")
    name = deployment.metadata.name
    if same_template(deployment.spec.template, found.spec.template):
        text = f'The rollback revision contains the same template as current deployment "{name}"'
        return Rollback(plain, "Warning", UNCHANGED, text)
    done = _with_template_of(plain, found)
    return Rollback(done, "Normal", DONE, f'Rolled back deployment "{name}" to revision {number}')


def last_revision(sets: Sequence[ReplicaSet]) -> int:
    """Return the second highest revision, which can equal the highest; 0 if there is none."""
    return sorted((0, 0, *map(revision, sets)))[-2]


def _with_template_of(deployment: Deployment, found: ReplicaSet) -> Deployment:
    template = found.spec.template
    labels = {key: text for key, text in template.metadata.labels.items() if key != HASH_LABEL}
    template = structs.replace(template, metadata=structs.replace(template.metadata, labels=labels))
    own = {key: text for key, text in deployment.metadata.annotations.items() if key in NOT_COPIED}
    theirs = {key: text for key, text in found.metadata.annotations.items() if key not in NOT_COPIED}
    metadata = structs.replace(deployment.metadata, annotations={**own, **theirs})
    spec = structs.replace(deployment.spec, template=template)
    return structs.replace(deployment, metadata=metadata, spec=spec)
