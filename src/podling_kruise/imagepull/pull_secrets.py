"""Copies of pull secrets in the namespace that nodes may read: one of each secret, shared by its jobs.

Upstream: ``classifyPullSecretsForJob`` and what follows it in ``pkg/controller/imagepulljob``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import structs

from podling import ids
from podling.api.core_v1 import Secret
from podling.api.meta_v1 import ObjectMeta
from podling.client.base import Client
from podling.machinery.errors import ApiError, is_not_found, unless_gone
from podling_kruise.imagepull.types import BATCH, ImagePullJob, SecretReference

NAMESPACE = "kruise-daemon-config"
SOURCE = "imagepulljobs.kruise.io/source-key"
JOBS = "imagepulljobs.kruise.io/references"
MODE = "imagepulljobs.kruise.io/mode"


class PullSecrets:
    """Keeps the copies for jobs."""

    def __init__(self, client: Client) -> None:
        self._client = client

    async def claim(self, job: ImagePullJob) -> Sequence[SecretReference]:
        """Make or update the copies of the job's secrets; return where they are. Missing ones are skipped."""
        namespace = job.metadata.namespace or ""
        if not job.spec.pull_secrets:
            return ()
        if namespace == NAMESPACE:
            return [SecretReference(namespace=namespace, name=name) for name in job.spec.pull_secrets]
        copies = {each.metadata.annotations.get(SOURCE, ""): each for each in await self._copies()}
        found = []
        for name in job.spec.pull_secrets:
            source = await self._source(namespace, name)
            if source is None:
                continue
            copy = await self._claimed(source, copies.get(f"{namespace}/{name}"), job)
            reference = SecretReference(
                namespace=NAMESPACE,
                name=copy.metadata.name or "",
                mode=copy.metadata.annotations.get(MODE, ""),
            )
            found.append(reference)
        return found

    async def release(self, job: ImagePullJob) -> None:
        """Take the job off the copies; delete those that no job uses any more."""
        if not job.spec.pull_secrets or job.metadata.namespace == NAMESPACE:
            return
        for copy in await self._copies():
            jobs = _jobs(copy.metadata.annotations)
            if _key(job) not in jobs:
                continue
            metadata, left = copy.metadata, jobs - {_key(job)}
            with unless_gone():
                if left:
                    await self._client.update(_with_jobs(copy, left))
                else:
                    await self._client.delete(Secret, metadata.name or "", NAMESPACE, uid=metadata.uid or "")

    async def _copies(self) -> Sequence[Secret]:
        return (await self._client.list(Secret, NAMESPACE)).items

    async def _source(self, namespace: str, name: str) -> Secret | None:
        try:
            return await self._client.get(Secret, name, namespace)
        except ApiError as error:
            if is_not_found(error):
                return None
            raise

    async def _claimed(self, source: Secret, copy: Secret | None, job: ImagePullJob) -> Secret:
        if copy is None:
            metadata = source.metadata
            annotations = {SOURCE: f"{metadata.namespace}/{metadata.name}", MODE: BATCH}
            name = f"{metadata.name}-{ids.suffix(6)}"
            made = ObjectMeta(name=name, namespace=NAMESPACE, labels=metadata.labels, annotations=annotations)
            new = Secret(metadata=made, type=source.type, data=source.data)
            return await self._client.create(_with_jobs(new, {_key(job)}))
        wanted = _with_jobs(
            structs.replace(copy, data=source.data), _jobs(copy.metadata.annotations) | {_key(job)}
        )
        return copy if wanted == copy else await self._client.update(wanted)


def _jobs(annotations: Mapping[str, str]) -> set[str]:
    return {each for each in annotations.get(JOBS, "").split(",") if each}


def _with_jobs(copy: Secret, jobs: set[str]) -> Secret:
    annotations = {**copy.metadata.annotations, JOBS: ",".join(sorted(jobs))}
    return structs.replace(copy, metadata=structs.replace(copy.metadata, annotations=annotations))


def _key(job: ImagePullJob) -> str:
    return f"{job.metadata.namespace}/{job.metadata.name}"
