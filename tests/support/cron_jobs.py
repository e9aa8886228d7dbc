"""AdvancedCronJobs of OpenKruise, as manifests."""

from __future__ import annotations

from typing import Any

PODS = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "task:1"}]}}
OWN = {"metadata": {"labels": {"app": "nightly"}}, "spec": {"template": PODS}}
JOB: dict[str, Any] = {"jobTemplate": OWN}
BROADCAST: dict[str, Any] = {"broadcastJobTemplate": OWN}


def pulls(**spec: Any) -> dict[str, Any]:
    """Return the template of ImageListPullJobs; further fields of their spec by name."""
    return {"imageListPullJobTemplate": {"spec": {"images": ["web:1", "log:1"], **spec}}}


def cron_job(version: str = "v1beta1", **spec: Any) -> dict[str, Any]:
    """Return an AdvancedCronJob ``nightly`` that starts a Job every hour.

    Further fields of its spec are given by name.
    """
    made = {"schedule": "0 * * * *", "template": JOB, **spec}
    return {
        "apiVersion": f"apps.kruise.io/{version}",
        "kind": "AdvancedCronJob",
        "metadata": {"name": "nightly", "namespace": "default"},
        "spec": made,
    }
