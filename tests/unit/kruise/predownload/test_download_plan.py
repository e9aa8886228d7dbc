"""Settings of downloads, the images of a new revision, and the jobs for them."""

from __future__ import annotations

from typing import Any

import pytest

from podling.api.apps_v1 import ControllerRevision
from podling.api.core_v1 import PodTemplateSpec
from podling.api.meta_v1 import LabelSelector, ObjectMeta
from podling.machinery.encoding import codec
from podling_kruise.cloneset.types import CloneSet
from podling_kruise.common_types import InPlaceUpdateStrategy
from podling_kruise.predownload.download_plan import (
    Download,
    DownloadSettings,
    changed_images,
    is_decided,
    pull_job,
    settings_of_annotations,
    settings_of_strategy,
)

PREFIX = "apps.kruise.io/image-predownload-"


@pytest.mark.parametrize(
    ("annotations", "expected"),
    [
        ({}, DownloadSettings(1, 300, 0)),
        ({"parallelism": "10", "timeout-seconds": "60"}, DownloadSettings(10, 60, 0)),
        ({"parallelism": "-1"}, DownloadSettings(-1, 300, 0)),
        ({"parallelism": "50%", "timeout-seconds": "long"}, DownloadSettings(1, 300, 0)),
        ({"timeout-seconds": "99999999999"}, DownloadSettings(1, 300, 0)),
        ({"min-updated-ready-pods": "3"}, DownloadSettings(1, 300, 3)),
        ({"min-updated-ready-pods": "30%"}, DownloadSettings(1, 300, 2)),
        ({"min-updated-ready-pods": "some"}, DownloadSettings(1, 300, 0)),
    ],
)
def test_annotations_that_can_be_read_are_settings(
    annotations: dict[str, str], expected: DownloadSettings
) -> None:
    named = {f"{PREFIX}{key}": text for key, text in annotations.items()}
    assert settings_of_annotations(named, 4) == expected


def test_fields_of_a_strategy_are_settings() -> None:
    own = InPlaceUpdateStrategy(
        image_pre_download_parallelism="5",
        image_pre_download_timeout_seconds=0,
        image_pre_download_min_updated_ready_pods=2,
    )
    assert settings_of_strategy(own) == DownloadSettings("5", 0, 2)
    assert settings_of_strategy(None) == DownloadSettings()


def revision(name: str = "web-a", labels: dict[str, str] | None = None, **images: str) -> ControllerRevision:
    containers = [{"name": key, "image": image} for key, image in images.items()]
    data: dict[str, Any] = {"spec": {"template": {"spec": {"containers": containers}}}}
    return ControllerRevision(metadata=ObjectMeta(name=name, labels=labels or {}), data=data, revision=1)


@pytest.mark.parametrize(
    ("old", "images"),
    [
        ([revision(main="a:2", side="b:1")], {}),
        ([revision(main="a:1", side="b:1")], {"main": "a:2"}),
        ([revision(main="a:1")], {"main": "a:2", "side": "b:1"}),
        ([revision(main="a:2", side="b:1"), revision(main="a:1", side="b:1")], {"main": "a:2"}),
        ([revision(main="a:2"), revision(side="b:1")], {}),
        ([], {"main": "a:2", "side": "b:1"}),
    ],
)
def test_images_that_an_old_revision_does_not_have_are_downloaded(
    old: list[ControllerRevision], images: dict[str, str]
) -> None:
    assert changed_images(old, revision(main="a:2", side="b:1")) == images


@pytest.mark.parametrize(
    ("label", "decided"),
    [("pre-predownload-created", True), ("image-predownload-ignored", True), ("other", False)],
)
def test_label_of_a_revision_says_that_it_is_decided(label: str, decided: bool) -> None:
    assert is_decided(revision(labels={f"apps.kruise.io/{label}": "true"})) is decided


def test_job_pulls_on_the_nodes_of_pods_of_other_revisions() -> None:
    template = codec.from_plain({"metadata": {"labels": {"app": "web"}}, "spec": {}}, PodTemplateSpec)
    plan = Download(
        images={"main": "a:2"},
        template=template,
        selector=LabelSelector(match_labels={"app": "web"}),
        digest="b",
        settings=DownloadSettings(3, 60),
    )
    owner = CloneSet(metadata=ObjectMeta(name="web", namespace="default", uid="u"))
    job = pull_job(owner, "web-b", "main", plan)
    assert (job.metadata.name, job.spec.image, job.spec.parallelism) == ("web-b-main", "a:2", 3)
    assert job.spec.pod_selector is not None
    assert job.spec.pod_selector.match_labels == {"app": "web"}
    (others,) = job.spec.pod_selector.match_expressions
    assert (others.operator, others.values) == ("NotIn", ("web-b", "b"))
