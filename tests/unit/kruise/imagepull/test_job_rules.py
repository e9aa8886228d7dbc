"""Decisions about ImagePullJobs: what is refused, how far the nodes are, and the policy of a node's tag.

Cases: ``TestReconcileImagePullJob_calculateStatus`` and ``..._CompletionPolicy`` of the controller,
``TestGetActiveDeadlineSecondsForNever``, and ``TestValidateParallelismV1beta1`` of the webhook.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from podling.api.core_v1 import Pod
from podling.machinery.encoding import codec
from podling_kruise.imagepull.job_rules import (
    Progress,
    next_nodes,
    nodes_of,
    problem_of,
    progress_of,
    pull_policy_of,
    status_of,
    with_image,
)
from podling_kruise.imagepull.references import InvalidReference
from podling_kruise.imagepull.types import ImagePullJob, NodeImage, SecretReference

NOW = datetime(2026, 1, 1, 0, 10, tzinfo=UTC)
START = "2026-01-01T00:00:00Z"
ALWAYS = {"type": "Always"}


def job(image: str = "nginx:1.21", started: bool = False, **spec: Any) -> ImagePullJob:
    plain = {
        "metadata": {"name": "pull", "namespace": "default", "uid": "mine"},
        "spec": {"image": image, "completionPolicy": ALWAYS, **spec},
        "status": {"startTime": START} if started else {},
    }
    return codec.from_plain(plain, ImagePullJob)


def image(
    name: str, phase: str = "", *, owner: str = "mine", tag: str = "1.21", version: int = 1, secret: str = ""
) -> NodeImage:
    """Return a node's record with version 1 of a job's tag, beside a tag of another job.

    ``phase``: of the tag in the status; ``tag`` and ``version``: those that the status is about.
    """
    tags = [
        {"tag": "1.20", "ownerReferences": [{"uid": "other"}]},
        {"tag": "1.21", "version": 1, "ownerReferences": [{"uid": owner}]},
    ]
    secrets = [{"namespace": "default", "name": secret}] if secret else []
    shown = [{"tag": tag, "version": version, "phase": phase}] if phase else []
    plain = {
        "metadata": {"name": name},
        "spec": {"images": {"nginx": {"pullSecrets": secrets, "tags": tags}}},
        "status": {"imageStatuses": {"nginx": {"tags": shown}}},
    }
    return codec.from_plain(plain, NodeImage)


EMPTY = codec.from_plain({"metadata": {"name": "n1"}}, NodeImage)
WANTED = SecretReference(namespace="default", name="wanted")


@pytest.mark.parametrize(
    ("images", "secrets", "unsynced", "numbers", "message"),
    [
        ([image("n1", "Succeeded")], [], [], (1, 0, 0), "job has completed"),
        (
            [image("n1", "Succeeded"), image("n2", "Pulling"), image("n3", "Failed")],
            [],
            [],
            (1, 1, 1),
            "job is running, progress 66.7%",
        ),
        ([image("n1", "Succeeded", tag="1.20")], [], [], (0, 1, 0), "job is running, progress 0.0%"),
        ([image("n1", "Succeeded", version=0)], [], [], (0, 1, 0), "job is running, progress 0.0%"),
        ([image("n1")], [], [], (0, 1, 0), "job is running, progress 0.0%"),
        ([image("n1", secret="other")], [WANTED], ["n1"], (0, 1, 0), "job is running, progress 0.0%"),
        ([image("n1", secret="wanted")], [WANTED], [], (0, 1, 0), "job is running, progress 0.0%"),
        ([image("n1", owner="other")], [], ["n1"], (0, 0, 0), "job is running, progress 0.0%"),
        ([EMPTY], [], ["n1"], (0, 0, 0), "job is running, progress 0.0%"),
        ([], [], [], (0, 0, 0), "job has completed"),
    ],
)
def test_progress_of_the_nodes(
    images: list[NodeImage],
    secrets: list[SecretReference],
    unsynced: list[str],
    numbers: tuple[int, int, int],
    message: str,
) -> None:
    """Numbers: succeeded, active, failed. A node that lacks a secret pulls, and is written again."""
    progress = progress_of(job(), images, secrets)
    status = status_of(job(), progress, len(images), NOW)
    assert list(progress.unsynced) == unsynced
    assert (status.succeeded, status.active, status.failed) == numbers
    assert (status.message, status.desired, status.start_time) == (message, len(images), NOW)
    assert (status.completion_time is not None) is (message == "job has completed")
    assert status.failed_nodes == tuple(each for each in ("n3",) if numbers[2])


def test_unreadable_image_is_an_error() -> None:
    with pytest.raises(InvalidReference):
        progress_of(job("invalid image reference!!!"), [], [])


@pytest.mark.parametrize(
    ("policy", "phase", "ends", "failed", "message"),
    [
        ({**ALWAYS, "activeDeadlineSeconds": 300}, "Pulling", True, 1, "job exceeds activeDeadlineSeconds"),
        ({**ALWAYS, "activeDeadlineSeconds": 600}, "Pulling", True, 1, "job exceeds activeDeadlineSeconds"),
        ({**ALWAYS, "activeDeadlineSeconds": 601}, "Pulling", False, 0, "job is running, progress 0.0%"),
        ({**ALWAYS, "activeDeadlineSeconds": 300}, "Succeeded", True, 0, "job has completed"),
        ({"type": "Never"}, "Pulling", False, 0, "job is running, progress 0.0%"),
        ({"type": "Never"}, "Succeeded", False, 0, "job is running, progress 100.0%"),
    ],
)
def test_job_ends_at_its_deadline_or_with_its_nodes(
    policy: dict[str, Any], phase: str, ends: bool, failed: int, message: str
) -> None:
    """The job was started ten minutes ago."""
    found = job(started=True, completionPolicy=policy)
    status = status_of(found, progress_of(found, [image("n1", phase)], []), 1, NOW)
    assert (status.completion_time == NOW, status.failed, status.message) == (ends, failed, message)
    assert status.failed_nodes == (("n1",) if failed else ())
    assert status.active == (0 if ends or phase == "Succeeded" else 1)


@pytest.mark.parametrize(
    ("parallelism", "problem"),
    [
        (None, ""),
        (2, ""),
        (0, ""),
        ("50", ""),
        ("0", ""),
        (-1, "parallelism must be non-negative"),
        ("-1", "parallelism must be non-negative"),
        ("50%", "parallelism does not support percentage value"),
        (
            "abc",
            'parallelism must be a valid integer: strconv.ParseInt: parsing "abc": invalid syntax',
        ),
        (
            "2147483648",
            'parallelism must be a valid integer: strconv.ParseInt: parsing "2147483648": value out of range',
        ),
    ],
)
def test_parallelism_is_a_number(parallelism: int | str | None, problem: str) -> None:
    assert problem_of(job(parallelism=parallelism).spec) == problem


@pytest.mark.parametrize(
    ("timeout", "deadline"), [(None, 1800), (1, 1800), (1799, 1800), (1800, 1800), (7200, 7200)]
)
def test_node_ends_each_pull_of_an_endless_job(timeout: int | None, deadline: int) -> None:
    pull = {} if timeout is None else {"timeoutSeconds": timeout}
    found = pull_policy_of(job(completionPolicy={"type": "Never"}, pullPolicy=pull).spec, 0)
    assert found.active_deadline_seconds == deadline


@pytest.mark.parametrize(
    ("pull", "completion", "seconds"),
    [
        ({}, {}, 1800),
        ({"timeoutSeconds": 60, "backoffLimit": 2}, {}, 120),
        ({"timeoutSeconds": 60}, {"activeDeadlineSeconds": 900}, 900),
        ({"timeoutSeconds": 60}, {"activeDeadlineSeconds": 900, "ttlSecondsAfterFinished": 5}, 5),
    ],
)
def test_tag_stays_on_the_node_as_long_as_the_job(
    pull: dict[str, Any], completion: dict[str, Any], seconds: int
) -> None:
    spec = job(pullPolicy=pull, completionPolicy={**ALWAYS, **completion}).spec
    assert pull_policy_of(spec, 0).ttl_seconds_after_finished == seconds
    assert pull_policy_of(spec, 1).ttl_seconds_after_finished == seconds + 300


@pytest.mark.parametrize(
    ("parallelism", "pulling", "chosen"),
    [
        (None, (), ["a"]),
        (None, ("p",), []),
        (2, ("p",), ["a"]),
        ("3", ("p",), ["a", "b"]),
        (1, ("p", "q"), []),
    ],
)
def test_nodes_begin_as_far_as_the_parallelism_leaves(
    parallelism: int | str | None, pulling: tuple[str, ...], chosen: list[str]
) -> None:
    progress = Progress(unsynced=("a", "b", "c"), pulling=pulling)
    assert list(next_nodes(job(parallelism=parallelism), progress)) == chosen


def pod_on(node: str, phase: str) -> Pod:
    plain = {"metadata": {"labels": {"app": "web"}}, "spec": {"nodeName": node}, "status": {"phase": phase}}
    return codec.from_plain(plain, Pod)


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        ({"selector": {}}, ["n1", "n2"]),
        ({"selector": {"names": []}}, []),
        ({"podSelector": {"matchLabels": {"app": "web"}}}, ["n1"]),
    ],
)
def test_nodes_of_active_pods_and_those_of_an_empty_selector(spec: dict[str, Any], names: list[str]) -> None:
    pods = [pod_on("n1", "Running"), pod_on("n2", "Succeeded")]
    found = nodes_of(job(**spec), [image("n1"), image("n2")], pods)
    assert [each.metadata.name for each in found] == names


@pytest.mark.parametrize(
    ("before", "version", "owners"),
    [
        (EMPTY, 0, ["mine"]),
        (image("n1", owner="other"), 2, ["other", "mine"]),
        (image("n1"), 1, ["mine"]),
        (
            codec.from_plain({"status": codec.to_plain(image("n1", "Failed", version=4).status)}, NodeImage),
            5,
            ["mine"],
        ),
    ],
)
def test_tag_of_another_pull_has_another_version(before: NodeImage, version: int, owners: list[str]) -> None:
    made = with_image(before, job(), [], NOW, 0).spec.images["nginx"]
    tag = next(each for each in made.tags if each.tag == "1.21")
    assert (tag.version, [each.uid for each in tag.owner_references]) == (version, owners)
