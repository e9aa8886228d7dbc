"""Small valid objects of the workload kinds, and changes of them."""

from __future__ import annotations

from typing import Any

from podling.api.batch_v1 import CronJob, Job
from podling.api.core_v1 import ReplicationController
from podling.machinery.encoding import codec
from tests.support.manifests import PLAIN_JOB, created, merged, obj

WORKLOAD: dict[str, Any] = {
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "main", "image": "nginx:1.27"}]},
        },
    },
}
_BASES: dict[Any, dict[str, Any]] = {
    ReplicationController: merged(WORKLOAD, {"spec": {"selector": None}}),
    Job: PLAIN_JOB,
    CronJob: {
        "metadata": {"name": "sum", "namespace": "default"},
        "spec": {"schedule": "@daily", "jobTemplate": {"spec": PLAIN_JOB["spec"]}},
    },
}


def base(kind: type[Any]) -> dict[str, Any]:
    """Return a minimal valid manifest of a workload kind."""
    return _BASES.get(kind, WORKLOAD)


def make(kind: type[Any], fragment: str = "") -> Any:
    """Return an object as created from ``base`` and a fragment of YAML."""
    return created(obj(kind, fragment, base(kind)))


def spec_of(thing: Any, *left_out: str) -> dict[str, Any]:
    """Return the spec without template, selector and the fields ``left_out``."""
    spec: dict[str, Any] = codec.to_plain(thing)["spec"]
    return {key: value for key, value in spec.items() if key not in ("template", "selector", *left_out)}
