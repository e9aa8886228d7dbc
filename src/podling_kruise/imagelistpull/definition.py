"""The CustomResourceDefinition of ImageListPullJobs; its versions are equal. Pure.

Upstream: ``apis/apps/v1beta1/imagelistpulljob_types.go``.
"""

from __future__ import annotations

from functools import lru_cache

from podling.api.apiextensions_v1 import CustomResourceDefinition
from podling_kruise.definitions import definition_of, version_of
from podling_kruise.imagepull.definition import TEMPLATE
from podling_kruise.names import GROUP
from podling_kruise.schemas import TEXT, TEXTS, TIME, column, described, items, number, record

NAME = f"imagelistpulljobs.{GROUP}"

_COLUMNS = [
    column("TOTAL", ".status.desired", "Number of image pull job"),
    column("SUCCEEDED", ".status.succeeded", "Number of image pull job succeeded"),
    column("COMPLETED", ".status.completed", "Number of ImagePullJobs which are finished"),
    column("AGE", ".metadata.creationTimestamp", kind="date"),
]
SPEC = record(("completionPolicy", "images"), images=described(TEXTS, "The images."), **TEMPLATE)
_FAILED = record(
    imagePullJob=described(TEXT, "The ImagePullJob."),
    name=described(TEXT, "The image."),
    message=TEXT,
)
_STATUS = record(
    ("desired",),
    startTime=TIME,
    completionTime=TIME,
    desired=described(number(), "The number of images."),
    active=described(number(), "ImagePullJobs that pull now."),
    completed=described(number(), "ImagePullJobs whose nodes have all ended."),
    succeeded=described(number(), "ImagePullJobs whose nodes all have the image."),
    failedImageStatuses=described(items(_FAILED), "ImagePullJobs with failed nodes."),
)


@lru_cache(1)
def definition() -> CustomResourceDefinition:
    """Return the definition; objects are stored as ``v1beta1``."""
    text = "Pulls several images on nodes."
    older = version_of("v1alpha1", text, SPEC, _STATUS, _COLUMNS, storage=False)
    newer = version_of("v1beta1", text, SPEC, _STATUS, _COLUMNS, storage=True)
    return definition_of("ImageListPullJob", (older, newer))
