"""The hash of claim templates that a CloneSet's revisions carry. Pure.

It distinguishes claims that have changed together with the template.
Upstream: ``pkg/util/volumeclaimtemplate``.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping

import msgspec
from msgspec import structs

from podling.api.apps_v1 import ControllerRevision
from podling.api.core_v1 import PersistentVolumeClaim
from podling.machinery.encoding import codec
from podling_kruise.cloneset.types import CloneSet
from podling_kruise.names import RECREATE_WITH_CLAIMS
from podling_kruise.policies import ONLY

CLAIM_HASH = "kruise.io/cloneset-volumeclaimtemplate-hash"
"""The annotation; empty without claim templates."""


def claim_hash(templates: tuple[PersistentVolumeClaim, ...]) -> str:
    """Return a hash of names and specs, in any order; empty without templates."""
    named = sorted((each.metadata.name or "", codec.to_plain(each.spec)) for each in templates)
    return str(zlib.crc32(msgspec.json.encode(named, order="sorted"))) if named else ""


def with_claim_hash(owner: CloneSet) -> CloneSet:
    """Return the CloneSet whose new revisions have the hash: they take over its annotations."""
    annotations = {**owner.metadata.annotations, CLAIM_HASH: claim_hash(owner.spec.volume_claim_templates)}
    return structs.replace(owner, metadata=structs.replace(owner.metadata, annotations=annotations))


def needs_new_claims(
    owner: CloneSet, old: ControllerRevision, new: ControllerRevision, gates: Mapping[str, bool]
) -> bool:
    """Return whether a pod must be recreated, as an update in place would keep its old claims.

    A revision without the hash is of an earlier release. InPlaceOnly recreates nothing.
    """
    if not gates[RECREATE_WITH_CLAIMS] or owner.spec.rolling.pod_update_policy == ONLY:
        return False
    before, after = (each.metadata.annotations.get(CLAIM_HASH) for each in (old, new))
    return None not in (before, after) and before != after
